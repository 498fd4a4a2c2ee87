-- a * b / w: whole and rest, for w < 2^45 and a result that is known to fit.
local function muldiv(a, b, w)
  local product = a * b
  if product < 9007199254740992 then
    local rest = product % w
    return (product - rest) / w, rest
  end
  local times = floor(a / w)
  local whole = times * b
  a = a - times * w
  times = floor(b / w)
  whole = whole + times * a
  b = b - times * w
  -- Both below w now: long multiplication, 7 bits at a time.
  local scale, quotient, rest = 4398046511104, 0, 0
  for _ = 1, 7 do
    local digit = floor(b / scale)
    b = b - digit * scale
    scale = scale / 128
    product = rest * 128 + a * digit
    rest = product % w
    quotient = quotient * 128 + (product - rest) / w
  end
  return whole + quotient, rest
end

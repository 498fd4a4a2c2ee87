-- p, size, pos, now, values, out -> the answer to requests that have all their
-- keys for themselves, none of which is a log or a penalty
local judged = { false, 0, 0, 0, false, 0, 0, 0, false, 0, 0, 0 } -- see requests.lua
local k, n = 0, #KEYS + 1
while pos <= size do
  local count, admitted = p[pos], true
  for i = 1, count do
    k = k + 1
    local at, cost, key = p[pos + 2 * i - 1], p[pos + 2 * i], KEYS[k]
    local mode = at % 8
    at = (at - mode) / 8
    local a, quota, window, capacity = p[at], p[at + 1], p[at + 2], p[at + 3]
    local v = values[k]
    local t, u, r, found, fit
    repeat
      --> load
      --> view
      --> fits
      local immortal = not fit and v and call('PTTL', key) == -1 -- see requests.lua
      if immortal then v = false end
    until not immortal
    out[k + 1] = found
    if count > 1 then
      local j = 4 * i
      judged[j - 3], judged[j - 2], judged[j - 1], judged[j] = fit, t, u, r
    elseif cost > 0 and (mode == FORCE or fit and mode <= SHADOW) then
      u = u + cost
      if u > MOST then u = MOST end
      local value, ends
      --> value
      local second, expiry = p[at + 4], p[at + 5]
      --> write
      p[at + 4], p[at + 5] = second, expiry
    end
    admitted = admitted and (fit or mode ~= ENFORCE)
  end
  if count > 1 then
    for i = 1, count do
      local at, cost, j = p[pos + 2 * i - 1], p[pos + 2 * i], 4 * i
      local mode = at % 8
      local takes = mode == ONDENIAL
      if admitted then takes = mode == FORCE or judged[j - 3] and mode <= SHADOW end
      if takes and cost > 0 then
        at = (at - mode) / 8
        local key, a, quota, window = KEYS[k - count + i], p[at], p[at + 1], p[at + 2]
        local t, u, r, value, ends = judged[j - 2], judged[j - 1] + cost, judged[j], nil, nil
        if u > MOST then u = MOST end
        --> value
        local second, expiry = p[at + 4], p[at + 5]
        --> write
        p[at + 4], p[at + 5] = second, expiry
      end
    end
  end
  n = n + 1
  out[n] = admitted and '1' or '0'
  pos = pos + 1 + 2 * count
end
out[1] = pack('<I7', now)
do return table.concat(out, '', 1, n) end

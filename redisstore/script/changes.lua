-- Makes changes: adjustments, resets, and what gives back what a request took.

local function plus(units, change)
  units = units + change
  if units > MOST then return MOST end
  if units < 0 then return 0 end
  return units
end

-- Returns where in S a key stands that is there from now on.
local function locate(k, at)
  local key = 4 * k - 3
  if not S[key] then
    local a, window, v = p[at], p[at + 2], values[k]
    local t, u, r, found
    if a == LOG then
      t, u, r, found = logLoad(k, v, window)
    else
      --> load
    end
    S[key], S[key + 1], S[key + 2], S[key + 3] = t, u, r, false
    out[k + 1] = found
  end
  return key
end

-- Changes the units that were taken at one instant of a log. What is out of
-- view stays: a clock that goes back may bring it into view again.
local function adjustLog(k, at, charged, change)
  local key, instant, window = 4 * k - 3, V[k], p[at + 2]
  local used = S[key + 1] + G[k]
  if charged > instant then charged = instant end
  if instant - charged >= window then return end
  local entries, i, taken, found = E[k], 0, 0, false
  if charged == instant then
    taken = P[k]
  else
    local low, high = 0, #entries / 14
    while low < high do
      local middle = floor((low + high) / 2)
      if unpackInts('<I7', entries, 14 * middle + 1) < charged then low = middle + 1 else high = middle end
    end
    i = 14 * low
    if i < #entries then
      local entry, units = unpackInts('<I7I7', entries, i + 1)
      if entry == charged then found, taken = true, units end
    end
  end
  if change < -taken then change = -taken end
  local after = plus(used, change) - used + taken
  if after < 0 then after = 0 end
  S[key + 1] = S[key + 1] + after - taken
  if S[key + 1] + G[k] > 0 and charged > S[key] then S[key] = charged end
  S[key + 3] = at
  if charged == instant then
    P[k] = after
  elseif after ~= taken then
    local rest = sub(entries, found and i + 15 or i + 1)
    local entry = after > 0 and pack('<I7I7', charged, after) or ''
    E[k] = sub(entries, 1, i) .. entry .. rest
  end
end

local function adjust(k, at, charged, change)
  local key = locate(k, at)
  local a, quota, window = p[at], p[at + 1], p[at + 2]
  if a == LOG then return adjustLog(k, at, charged, change) end
  local t, u, r = S[key], S[key + 1], S[key + 2]
  --> view
  if a == FIXED then
    if charged - charged % window ~= t then return end
    u = plus(u, change)
  elseif a == SLIDING then
    local start = charged - charged % window
    if start == t then
      u = plus(u, change)
    elseif start == t - window then
      r = plus(r, change)
    else
      return
    end
  elseif change > 0 then
    u = plus(u, change)
  else
    -- Down by what of the change has not drained since.
    local elapsed = t - charged
    if elapsed < 0 then elapsed = 0 end
    local back, part = -change, 0
    if elapsed * quota >= (back + 2) * window then return end
    local drained, rest = muldiv(elapsed, quota, window)
    back, part = back - drained, -rest
    if part < 0 then back, part = back - 1, part + window end
    if back < 0 or back == 0 and part == 0 then return end
    u, r = u - back, r - part
    if r < 0 then u, r = u - 1, r + window end
    if u < 0 then u, r = 0, 0 end
  end
  S[key], S[key + 1], S[key + 2], S[key + 3] = t, u, r, at
end

-- Gives back what a request took that was denied elsewhere: if nobody has
-- changed the key meanwhile, it becomes what it was.
local function undo(k, at, from)
  local charged, change = p[from], p[from + 1]
  local key = locate(k, at)
  local same = S[key] == p[from + 2] and S[key + 1] == p[from + 3]
  if p[at] == LOG then
    adjustLog(k, at, charged, change)
    if same and S[key] == p[from + 2] then S[key] = p[from + 5] end
  elseif same and S[key + 2] == p[from + 4] then
    S[key], S[key + 1], S[key + 2], S[key + 3] = p[from + 5], p[from + 6], p[from + 7], at
  else
    adjust(k, at, charged, change)
  end
end

local function reset(k, at)
  local key = locate(k, at)
  S[key], S[key + 1], S[key + 2], S[key + 3] = 0, 0, 0, at
  V[k], E[k], F[k], G[k], P[k] = now, '', 1, 0, 0
  gone[k] = true
end

while pos <= size do
  local kind, k, at = p[pos], p[pos + 1], p[pos + 2] / 8
  if kind == -1 then
    reset(k, at)
    pos = pos + 3
  elseif kind == -3 then
    gone[k] = nil
    undo(k, at, pos + 3)
    pos = pos + 11
  else
    gone[k] = nil
    adjust(k, at, p[pos + 3], p[pos + 4])
    pos = pos + 5
  end
end

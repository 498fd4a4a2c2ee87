-- Decides a batch of requests and writes what they change. Every key is read
-- once and written once, however often the batch names it.
--
-- KEYS     the distinct keys
-- ARGV[1]  MessagePack, one flat array of integers:
--            the time in microseconds, or -1 for this server's own
--            what there is: 1 for logs + 2 for changes (what is no request) + 4
--            for requests with several charges
--            the number of limits, and 4 each: algorithm, quota, window, capacity
--            requests, to the end:
--              n, and n charges of 3: key, 8 * limit + mode, cost
--              0, and an adjustment of 4: key, 8 * limit, at, change
--              -1, and a reset of 2: key, 8 * limit
--              -2, n, and charges as above, which may be undone
--              -3, and an undoing of 10: key, 8 * limit, at, change, the state
--              that is expected and the one to go back to (time, units, rest)
--
-- Keys and limits are counted from 1, and a key is named for the first time in
-- the order of KEYS. The answer is one string: the time (7 bytes), each key as
-- it was found (see record), a byte 0 or 1 per request that is no adjustment,
-- and 7 bytes per charge on a log: when the units it lacks were taken.
-- Everything else of an answer follows from these and is worked out by the
-- client, with the same arithmetic.
--
-- All numbers are integers below 2^53, where doubles are exact. Stored values
-- are little-endian:
--   fixed window    time 7, units 7                  14 bytes
--   sliding window  time 7, units 7, units before 7  21 bytes
--   buckets         time 7, debt 7, rest 6           20 bytes
--   log             time 7, units 7, and 14 per entry: time 7, units 7

local SLIDING, FIXED, LOG, TOKEN, LEAKY = 1, 2, 3, 4, 5
local ENFORCE, SHADOW, FORCE, ONDENIAL = 0, 1, 3, 4 -- the modes; 2 only looks
local MOST = 4503599627370495   -- units; a count saturates here
local LATEST = 9007199254740991 -- microseconds
local CENTURY = 3155760000000000

local floor, sub, call = math.floor, string.sub, redis.call
local pack, unpackInts, format = struct.pack, struct.unpack, string.format

local p = cmsgpack.unpack(ARGV[1])
local simulated = p[1] >= 0
local now = p[1]
if not simulated then
  local t = call('TIME')
  now = t[1] * 1000000 + t[2]
end
if now > LATEST then now = LATEST end

-- To make a function takes time, too: those that are not needed are not made.
local kinds = p[2]
local logs, changes, several = kinds % 2 >= 1, kinds % 4 >= 2, kinds >= 4

local Q, W, C, A = {}, {}, {}, {} -- quota, window, capacity, algorithm by limit
local pos = 4
for i = 1, p[3] do
  A[i], Q[i], W[i], C[i] = p[pos], p[pos + 1], p[pos + 2], p[pos + 3]
  pos = pos + 4
end

local values
if #KEYS <= 1000 then
  values = call('MGET', unpack(KEYS))
else
  values = {}
  for from = 1, #KEYS, 1000 do
    local part = call('MGET', unpack(KEYS, from, math.min(from + 999, #KEYS)))
    for i = 1, #part do values[from + i - 1] = part[i] end
  end
end

-- By key: the last committed time (start of a window), units, and the rest of
-- a bucket's unit or the units of the window before.
local T, U, R = {}, {}, {}
-- Of logs: the time that counts, the entries as they are stored, where in them
-- the view begins, the units before it, and the units of that time.
local V, E, F, G, P
if logs or changes then V, E, F, G, P = {}, {}, {}, {}, {} end
local owner, dirty = {}, {} -- the limit by which a key was last used, written
local gone -- reset
local out = { '' }
local n = 1

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

local function plus(units, change)
  units = units + change
  if units > MOST then return MOST end
  if units < 0 then return 0 end
  return units
end

-- What the answer tells of a key: the stored value, or a fresh one in its
-- place; of a log the time that counts, the units in view, the last entry and
-- the stored time.
local FRESH = {
  [FIXED] = '\0\0\0\0\0\0\0\0\0\0\0\0\0\0',
  [SLIDING] = '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0',
  [TOKEN] = '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0',
  [LEAKY] = '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0',
}

local loadLog
if logs then
  loadLog = function(k, v, window)
    local t, at, used, gone, entries, from, last, pending = 0, now, 0, 0, '', 1, 0, 0
    if v and #v >= 14 and #v % 14 == 0 then
      local stored, units = unpackInts('<I7I7', v)
      if stored <= LATEST and units <= MOST then
        t, used, entries = stored, units, sub(v, 15)
        if t > at then at = t end
        local size = #entries
        while from < size do
          local entry, n = unpackInts('<I7I7', entries, from)
          if at - entry < window then break end
          gone = gone + n
          from = from + 14
        end
        used = used - gone
        if used < 0 then used = 0 end
        if from < size then
          last, units = unpackInts('<I7I7', entries, size - 13)
          if last == at then
            pending = units
            entries = sub(entries, 1, size - 14)
          end
        end
      end
    end
    T[k], U[k], V[k], E[k], F[k], G[k], P[k] = t, used, at, entries, from, gone, pending
    return pack('<I7I7I7I7', at, used, last, t)
  end
end

local function load(k, limit)
  local a, v = A[limit], values[k]
  owner[k] = limit
  if a == LOG then return loadLog(k, v, W[limit]) end
  if v then
    if a == FIXED then
      if #v == 14 then
        local t, u = unpackInts('<I7I7', v)
        if t <= LATEST and u <= MOST then
          T[k], U[k], R[k] = t, u, 0
          return v
        end
      end
    elseif a == SLIDING then
      if #v == 21 then
        local t, u, r = unpackInts('<I7I7I7', v)
        if t <= LATEST and u <= MOST and r <= MOST then
          T[k], U[k], R[k] = t, u, r
          return v
        end
      end
    elseif #v == 20 then
      local t, u, r = unpackInts('<I7I7I6', v)
      if t <= LATEST and u <= MOST and r < W[limit] then
        T[k], U[k], R[k] = t, u, r
        return v
      end
    end
  end
  T[k], U[k], R[k] = 0, 0, 0
  return FRESH[a]
end

-- The state of a key at this instant, as it would be stored.
local function view(k, limit)
  local a, t, u, r = A[limit], T[k], U[k], R[k]
  if a == LOG or now <= t then return t, u, r end
  local window = W[limit]
  if a == FIXED then
    local start = now - now % window
    if start > t then return start, 0, 0 end
    return t, u, 0
  elseif a == SLIDING then
    if now - t < window then return t, u, r end
    local start = now - now % window
    if start - t <= window then return start, 0, u end
    return start, 0, 0
  end
  if u == 0 and r == 0 then return now, 0, 0 end
  local elapsed, quota = now - t, Q[limit]
  -- More than all of it: also what keeps muldiv's result small.
  if elapsed * quota >= (u + 2) * window then return now, 0, 0 end
  local gone, part = muldiv(elapsed, quota, window)
  u, r = u - gone, r - part
  if r < 0 then u, r = u - 1, r + window end
  if u < 0 then return now, 0, 0 end
  return now, u, r
end

local function fits(limit, t, u, r, cost)
  local a, spare = A[limit], C[limit] - u - cost
  if a == SLIDING then
    if spare < 0 or r == 0 then return spare >= 0 end
    local window, left = W[limit], W[limit]
    if now > t then left = t + window - now end
    local weighed, part = muldiv(r, left, window)
    return weighed < spare or weighed == spare and part == 0
  elseif a == FIXED or a == LOG then
    return spare >= 0
  end
  if r > 0 then spare = spare - 1 end
  if a == LEAKY and cost > 0 and Q[limit] == 0 and (u > 0 or r > 0) then return false end
  return spare >= 0
end

local released
if logs then
  -- When the oldest units of a log, so many, were all taken.
  released = function(k, units)
    local entries = E[k]
    for i = F[k], #entries, 14 do
      local at, n = unpackInts('<I7I7', entries, i)
      units = units - n
      if units <= 0 then return at end
    end
    return V[k]
  end
end

local commit
if logs or several then
  -- Takes a cost. What may be undone keeps the entries that a log has out of
  -- view.
  commit = function(k, limit, cost, undoable)
    if cost == 0 then return end
    local t, u, r = view(k, limit)
    local after = plus(u, cost)
    if A[limit] == LOG then
      t = V[k]
      P[k] = P[k] + after - u
      if F[k] > 1 and not undoable then E[k], F[k], G[k] = sub(E[k], F[k]), 1, 0 end
    end
    T[k], U[k], R[k] = t, after, r
    owner[k], dirty[k] = limit, true
  end
end

-- A value without expiry would be kept for ever: it is read as fresh. Only a
-- denial has to look, since whatever else happens writes the key anew.
local function immortal(k, limit)
  if not values[k] or dirty[k] or call('PTTL', KEYS[k]) ~= -1 then return false end
  values[k] = false
  out[k + 1] = load(k, limit)
  return true
end

local releases, verdicts = {}, {}

local function decideOne(k, limit, mode, cost)
  if not T[k] then out[k + 1] = load(k, limit) end
  local t, u, r = view(k, limit)
  local fit = fits(limit, t, u, r, cost)
  if not fit and immortal(k, limit) then
    t, u, r = view(k, limit)
    fit = fits(limit, t, u, r, cost)
  end
  if A[limit] == LOG then
    local at = 0
    if not fit and cost <= C[limit] then at = released(k, u + cost - C[limit]) end
    releases[#releases + 1] = pack('<I7', at)
  end
  if cost > 0 and (mode == FORCE or fit and mode <= SHADOW) then
    if A[limit] == LOG then
      commit(k, limit, cost)
    else
      T[k], U[k], R[k] = t, plus(u, cost), r
      owner[k], dirty[k] = limit, true
    end
  end
  return fit or mode ~= ENFORCE
end

local decideAll
if several then
  -- Several charges: each is decided on the state as it is and what the request
  -- takes of the same key before it; then all are taken, or none is.
  decideAll = function(from, count, undoable)
    local before, fit, admitted = {}, {}, true
    for i = 0, count - 1 do
      local k, limit, cost = p[from + 3 * i], p[from + 3 * i + 1], p[from + 3 * i + 2]
      local mode = limit % 8
      limit = (limit - mode) / 8
      if not T[k] then out[k + 1] = load(k, limit) end
      local sum = (before[k] or 0) + cost
      if sum > MOST then sum = MOST end
      local t, u, r = view(k, limit)
      local ok = fits(limit, t, u, r, sum)
      if not ok and immortal(k, limit) then
        t, u, r = view(k, limit)
        ok = fits(limit, t, u, r, sum)
      end
      if A[limit] == LOG then
        local at = 0
        if not ok and cost <= C[limit] then at = released(k, u + sum - C[limit]) end
        releases[#releases + 1] = pack('<I7', at)
      end
      fit[i] = ok
      if mode == ENFORCE and not ok then admitted = false end
      if mode == FORCE or ok and mode <= SHADOW then before[k] = sum end
    end
    for i = 0, count - 1 do
      local k, limit, cost = p[from + 3 * i], p[from + 3 * i + 1], p[from + 3 * i + 2]
      local mode = limit % 8
      limit = (limit - mode) / 8
      if admitted then
        if mode == FORCE or fit[i] and mode <= SHADOW then commit(k, limit, cost, undoable) end
      elseif mode == ONDENIAL then
        commit(k, limit, cost)
      end
    end
    return admitted
  end
end

local adjustEntry, adjust, undo, reset
if changes then
  -- Changes the units that were taken at one instant of a log. What is out of
  -- view stays: a clock that goes back may bring it into view again.
  gone = {}
  adjustEntry = function(k, limit, charged, change)
    local at, used = V[k], U[k] + G[k]
    if charged > at then charged = at end
    if at - charged >= W[limit] then return end
    local entries, i, taken, found = E[k], 0, 0, false
    if charged == at then
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
    U[k] = U[k] + after - taken
    if U[k] + G[k] > 0 and charged > T[k] then T[k] = charged end
    owner[k], dirty[k] = limit, true
    if charged == at then
      P[k] = after
    elseif after ~= taken then
      local rest = sub(entries, found and i + 15 or i + 1)
      local entry = after > 0 and pack('<I7I7', charged, after) or ''
      E[k] = sub(entries, 1, i) .. entry .. rest
    end
  end

  adjust = function(k, limit, charged, change)
    if not T[k] then out[k + 1] = load(k, limit) end
    local a, window = A[limit], W[limit]
    if a == LOG then return adjustEntry(k, limit, charged, change) end
    local t, u, r = view(k, limit)
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
      if elapsed * Q[limit] >= (back + 2) * window then return end
      local gone, rest = muldiv(elapsed, Q[limit], window)
      back, part = back - gone, -rest
      if part < 0 then back, part = back - 1, part + window end
      if back < 0 or back == 0 and part == 0 then return end
      u, r = u - back, r - part
      if r < 0 then u, r = u - 1, r + window end
      if u < 0 then u, r = 0, 0 end
    end
    T[k], U[k], R[k] = t, u, r
    owner[k], dirty[k] = limit, true
  end

  -- Gives back what a request took that was denied elsewhere: if nobody has
  -- changed the key meanwhile, it becomes what it was.
  undo = function(from)
    local k, limit, charged, change = p[from], p[from + 1] / 8, p[from + 2], p[from + 3]
    if not T[k] then out[k + 1] = load(k, limit) end
    local same = T[k] == p[from + 4] and U[k] == p[from + 5]
    if A[limit] == LOG then
      adjustEntry(k, limit, charged, change)
      if same and T[k] == p[from + 4] then T[k] = p[from + 7] end
    elseif same and R[k] == p[from + 6] then
      T[k], U[k], R[k] = p[from + 7], p[from + 8], p[from + 9]
      owner[k], dirty[k] = limit, true
    else
      adjust(k, limit, charged, change)
    end
  end

  reset = function(k, limit)
    if not T[k] then out[k + 1] = load(k, limit) end
    T[k], U[k], R[k] = 0, 0, 0
    V[k], E[k], F[k], G[k], P[k] = now, '', 1, 0, 0
    dirty[k], gone[k] = true, true
  end
end

local size = #p
while pos <= size do
  local count = p[pos]
  if count == 1 then
    local limit = p[pos + 2]
    local mode = limit % 8
    verdicts[n] = decideOne(p[pos + 1], (limit - mode) / 8, mode, p[pos + 3]) and '1' or '0'
    n = n + 1
    pos = pos + 4
  elseif count == 0 then
    gone[p[pos + 1]] = nil
    adjust(p[pos + 1], p[pos + 2] / 8, p[pos + 3], p[pos + 4])
    pos = pos + 5
  elseif count == -2 then
    count = p[pos + 1]
    verdicts[n] = decideAll(pos + 2, count, true) and '1' or '0'
    n = n + 1
    pos = pos + 2 + 3 * count
  elseif count == -3 then
    gone[p[pos + 1]] = nil
    undo(pos + 1)
    pos = pos + 11
  elseif count == -1 then
    reset(p[pos + 1], p[pos + 2] / 8)
    pos = pos + 3
  else
    verdicts[n] = decideAll(pos + 1, count) and '1' or '0'
    n = n + 1
    pos = pos + 1 + 3 * count
  end
end

-- A number handed to redis.call would have all its digits as well, but %.17g
-- takes longer than %d.
for k, _ in pairs(dirty) do
  local limit = owner[k]
  local a, window, t, u, r = A[limit], W[limit], T[k], U[k], R[k]
  local value, ends
  if a == FIXED then
    value = pack('<I7I7', t, u)
    ends = t + window
  elseif a == SLIDING then
    value = pack('<I7I7I7', t, u, r)
    ends = t + window
    if u > 0 then ends = ends + window end
  elseif a == LOG then
    local entries = E[k]
    if P[k] > 0 then
      entries = entries .. pack('<I7I7', V[k], P[k])
      ends = V[k] + window
    elseif entries ~= '' then
      ends = unpackInts('<I7', entries, #entries - 13) + window
    end -- else no entry is left, whatever a damaged value says of units
    u = u + G[k]
    value = pack('<I7I7', t, u) .. entries
  else
    value = pack('<I7I7I6', t, u, r)
    if Q[limit] == 0 then
      ends = t + CENTURY
    else
      ends = t + (u * window + r) / Q[limit] + 1
    end
  end
  if gone and gone[k] then
    call('DEL', KEYS[k])
  elseif simulated then
    -- Steps of a simulated clock take no time: the key has to outlast them.
    local ttl = 60000
    if ends and ends - now > 60000000 then ttl = floor(math.min(ends - now, CENTURY) / 1000) + 1 end
    call('SET', KEYS[k], value, 'PX', format('%d', ttl))
  elseif not ends or u == 0 and (r == 0 or a == LOG) then
    call('DEL', KEYS[k])
  else
    call('SET', KEYS[k], value, 'PXAT', format('%d', floor(math.min(ends, now + CENTURY) / 1000) + 1))
  end
end

out[1] = pack('<I7', now)
out[#KEYS + 2] = n == 2 and verdicts[1] or table.concat(verdicts)
if logs then out[#KEYS + 3] = table.concat(releases) end
return table.concat(out)

-- Decides a batch of requests, or makes a batch of changes, and writes what
-- becomes different. Every key is read once and written once, however often the
-- batch names it.
--
-- A line "--> name" stands for the text of name.lua: what several places need
-- and too much time is lost on calling a function for. Such a text works on
-- local variables, and says on which.
--
-- KEYS     the distinct keys
-- ARGV[1]  MessagePack, one flat array of integers:
--            the time in microseconds, or -1 for this server's own
--            what there is: 1 for logs + 2 for changes, and then no request + 4
--            for a request that names a key twice + 16 for penalties; or 8 for
--            nothing but a request with one charge, on neither
--            the number of limits, and 4 each: algorithm, quota, window, capacity;
--            a penalty is two of them, see penalty.lua
--            requests, to the end:
--              n, and n charges of 3: key, 8 * limit + mode, cost
--              -2, n, and charges as above, which may be undone
--            or changes, to the end:
--              0, and an adjustment of 4: key, 8 * limit, at, change
--              -1, and a reset of 2: key, 8 * limit
--              -3, and an undoing of 10: key, 8 * limit, at, change, the state
--              that is expected and the one to go back to (time, units, rest)
--
-- Keys and limits are counted from 1, and a key is named for the first time in
-- the order of KEYS. The answer is one string: the time (7 bytes), each key as
-- it was found (see load.lua), '1' or '0' per request, and 7 bytes per charge on
-- a log: when the units it lacks were taken. Everything else of an answer
-- follows from these and is worked out by the client, with the same arithmetic.
--
-- All numbers are integers below 2^53, where doubles are exact. Stored values
-- are little-endian:
--   fixed window    time 7, units 7                  14 bytes
--   sliding window  time 7, units 7, units before 7  21 bytes
--   buckets         time 7, debt 7, rest 6           20 bytes
--   log             time 7, units 7, and 14 per entry: time 7, units 7
--   penalty         last strike 7, strikes 7         14 bytes

local SLIDING, FIXED, LOG, TOKEN, LEAKY, PENALTY = 1, 2, 3, 4, 5, 6
local ENFORCE, SHADOW, PEEK, FORCE, ONDENIAL, GUARD = 0, 1, 2, 3, 4, 5 -- the modes
local MOST = 4503599627370495   -- units; a count saturates here
local LATEST = 9007199254740991 -- microseconds
local CENTURY = 3155760000000000

local floor, sub, call = math.floor, string.sub, redis.call
local pack, unpackInts, format = struct.pack, struct.unpack, string.format

local p = cmsgpack.unpack(ARGV[1])
local now, kinds = p[1], p[2]
local simulated = now >= 0
if not simulated then
  local t = call('TIME')
  now = t[1] * 1000000 + t[2]
end
if now > LATEST then now = LATEST end

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

-- By itself, for a table or a function takes as long to make as all else that
-- the commonest request needs.
if kinds == 8 then
  --> one
end

-- To make a function takes time, too: those that are not needed are not made.
local logs, changes, repeats, penalties = kinds % 2 >= 1, kinds % 4 >= 2, kinds % 8 >= 4, kinds >= 16

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

-- By key, from 4 * key - 3: the last committed time (start of a window), units,
-- the rest of a bucket's unit or the units of the window before, and where in p
-- the limit stands by which it was written, or false.
local S = { false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false }
local out = { '', '', '', '', '', '' } -- the answer, from out[2] on by key
local verdicts = {}
local releases = logs and {}
local gone = changes and {} -- keys that were reset

--> log
--> penalty

if changes then
  --> changes
else
  --> requests
end

for k = 1, #KEYS do
  local at = S[4 * k]
  if at then
    local key, a, quota, window = KEYS[k], p[at], p[at + 1], p[at + 2]
    local t, u, r = S[4 * k - 3], S[4 * k - 2], S[4 * k - 1]
    local value, ends
    if a == LOG then
      value, ends, u = logValue(k, t, u, window)
    elseif a == PENALTY then
      value, ends = pack('<I7I7', t, u), blockedUntil(at, t, u) + window
    else
      --> value
    end
    if gone and gone[k] then value = nil end
    --> write
  end
end

out[1] = pack('<I7', now)
out[#KEYS + 2] = #verdicts == 1 and verdicts[1] or table.concat(verdicts)
out[#KEYS + 3] = logs and table.concat(releases) or ''
return table.concat(out, '', 1, #KEYS + 3)

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
--            what there is: 1 for logs + 2 for changes, and then no request + 4
--            for a request that names a key twice + 16 for penalties; or 8 for
--            nothing but requests that have all their keys for themselves, and
--            none of these
--            the number of limits, and of requests
--            limits of 6: algorithm, quota, window, capacity, 0, 0; a penalty
--            is two of them, see penalty.lua
--            requests, to the end:
--              n, and n charges of 3: key, 8 * at + mode, cost
--              -2, n, and charges as above, which may be undone
--            or changes, to the end:
--              0, and an adjustment of 4: key, 8 * at, instant, change
--              -1, and a reset of 2: key, 8 * at
--              -3, and an undoing of 10: key, 8 * at, instant, change, the state
--              that is expected and the one to go back to (time, units, rest)
--            With 8, a charge is of 2, since its key is the next.
-- ARGV[2]  see now.lua
--
-- At is where in the array a limit stands. Keys are counted from 1, and named for
-- the first time in the order of KEYS. The answer is one string: the time (7 bytes), each key as
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

--> words

local p = cmsgpack.unpack(ARGV[1])
local kinds, size, pos = p[1], #p, 4 + 6 * p[2]
--> now
--> muldiv

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

local out = { '', '', '', '', '', '' } -- the answer, from out[2] on by key

-- By itself, for what is remembered of keys takes as much time as the decisions.
if kinds == 8 then
  --> apart
end

-- To make a function takes time, too: those that are not needed are not made.
local logs, changes, repeats, penalties = kinds % 2 >= 1, kinds % 4 >= 2, kinds % 8 >= 4, kinds >= 16

-- By key, from 4 * key - 3: the last committed time (start of a window), units,
-- the rest of a bucket's unit or the units of the window before, and where in p
-- the limit stands by which it was written, or false.
local S = { false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false }
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
    local second, expiry = p[at + 4], p[at + 5]
    --> write
    p[at + 4], p[at + 5] = second, expiry
  end
end

out[1] = pack('<I7', now)
out[#KEYS + 2] = #verdicts == 1 and verdicts[1] or table.concat(verdicts)
out[#KEYS + 3] = logs and table.concat(releases) or ''
return table.concat(out, '', 1, #KEYS + 3)

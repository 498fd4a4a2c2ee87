-- Decides a request with one charge, neither on a log nor on a penalty, with
-- less than what main.lua makes for many.
--
-- KEYS[1]  its key
-- ARGV[1]  little-endian: algorithm 1, mode 1, quota 7, window 7, capacity 7,
--          cost 7
-- ARGV[2]  see now.lua
--
-- The answer is as main.lua's.

--> words

local a, mode, quota, window, capacity, cost = unpackInts('<BBI7I7I7I7', ARGV[1])
local key = KEYS[1]
--> now
--> muldiv

local v = call('MGET', key)[1]
local t, u, r, found, fit
repeat
  --> load
  --> view
  --> fits
  local immortal = not fit and v and call('PTTL', key) == -1 -- see requests.lua
  if immortal then v = false end
until not immortal
if cost > 0 and (mode == FORCE or fit and mode <= SHADOW) then
  u = u + cost
  if u > MOST then u = MOST end
  local value, ends, second, expiry
  --> value
  --> write
end
return pack('<I7', now) .. found .. ((fit or mode ~= ENFORCE) and '1' or '0')

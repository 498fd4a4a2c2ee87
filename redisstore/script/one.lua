-- p, now -> the answer to a request with one charge, not on a log
local a, quota, window, capacity = p[4], p[5], p[6], p[7]
local mode, cost, key = p[10] - 8, p[11], KEYS[1]
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
  local value, ends
  --> value
  --> write
end
return pack('<I7', now) .. found .. ((fit or mode ~= ENFORCE) and '1' or '0')

-- key, value, ends, a, u, r -> the key is stored, or is not there: if it is as
-- good as new or, without a value, was reset. It is there until the end of the
-- second: second and expiry are the last one that was put in words under this
-- limit, since it takes as long as all of a decision's arithmetic to do so. A
-- number handed to redis.call would have all its digits as well, but %.17g takes
-- longer than %d.
if not value then
  call('DEL', key)
elseif simulated then
  -- Steps of a simulated clock take no time: the key has to outlast them.
  local ttl = 86400
  if ends and ends > now then ttl = ttl + floor(math.min(ends - now, CENTURY) / 1000000) + 1 end
  call('SET', key, value, 'EX', format('%d', ttl))
elseif not ends or u == 0 and (r == 0 or a == LOG) then
  call('DEL', key)
else
  if ends > now + CENTURY then ends = now + CENTURY end
  local last = floor(ends / 1000000) + 1
  if last ~= second then second, expiry = last, format('%d', last) end
  call('SET', key, value, 'EXAT', expiry)
end

-- key, value, ends, a, u, r -> the key is stored, or is not there: if it is as
-- good as new or, without a value, was reset. A number handed to redis.call would have all its digits as well, but
-- %.17g takes longer than %d.
if not value then
  call('DEL', key)
elseif simulated then
  -- Steps of a simulated clock take no time: the key has to outlast them.
  local ttl = 60000
  if ends and ends - now > 60000000 then ttl = floor(math.min(ends - now, CENTURY) / 1000) + 1 end
  call('SET', key, value, 'PX', format('%d', ttl))
elseif not ends or u == 0 and (r == 0 or a == LOG) then
  call('DEL', key)
else
  call('SET', key, value, 'PXAT', format('%d', floor(math.min(ends, now + CENTURY) / 1000) + 1))
end

-- -> now, in microseconds, and simulated: tests bring a time along
local simulated, now = ARGV[2], nil
if simulated then
  now = simulated + 0
else
  local t = call('TIME')
  now = t[1] * 1000000 + t[2]
end
if now > LATEST then now = LATEST end

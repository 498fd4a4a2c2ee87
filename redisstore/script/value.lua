-- a, quota, window, t, u, r -> value, and ends, when it is as good as new
if a == TOKEN or a == LEAKY then
  value = pack('<I7I7I6', t, u, r)
  if quota == 0 then
    ends = t + CENTURY
  else
    ends = t + (u * window + r) / quota + 1
  end
elseif a == SLIDING then
  value = pack('<I7I7I7', t, u, r)
  ends = t + window
  if u > 0 then ends = ends + window end
else
  value = pack('<I7I7', t, u)
  ends = t + window
end

-- a, quota, window, capacity, t, u, r as they are at this instant, cost -> fit
local spare = capacity - u - cost
if a == SLIDING then
  fit = spare >= 0
  if fit and r > 0 then
    local left = window
    if now > t then left = t + window - now end
    local weighed, part = muldiv(r, left, window)
    fit = weighed < spare or weighed == spare and part == 0
  end
else
  if r > 0 then spare = spare - 1 end
  fit = spare >= 0 and not (a == LEAKY and cost > 0 and quota == 0 and (u > 0 or r > 0))
end

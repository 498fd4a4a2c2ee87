-- a, quota, window, t, u, r -> t, u, r as they are at this instant, as they
-- would be stored. A log's are so already.
if now > t and a ~= LOG then
  if a == TOKEN or a == LEAKY then
    if u > 0 or r > 0 then
      local elapsed = now - t
      -- More than all of it: also what keeps muldiv's result small.
      if elapsed * quota >= (u + 2) * window then
        u, r = 0, 0
      else
        local drained, part = muldiv(elapsed, quota, window)
        u, r = u - drained, r - part
        if r < 0 then u, r = u - 1, r + window end
        if u < 0 then u, r = 0, 0 end
      end
    end
    t = now
  elseif a == FIXED then
    local start = now - now % window
    if start > t then t, u = start, 0 end
  elseif now - t >= window then
    local start = now - now % window
    r = start - t <= window and u or 0
    t, u = start, 0
  end
end

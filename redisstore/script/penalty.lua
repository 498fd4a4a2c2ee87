-- When the block of a penalty ends that has u strikes, the last at t; at is
-- where its limit stands: algorithm, tolerated strikes, time to be forgotten,
-- first block, 0, 0, and then 0, factor, longest block.
local blockedUntil
if penalties then
  blockedUntil = function(at, t, u)
    local strikes, length, factor, longest = u - p[at + 1], p[at + 3], p[at + 7], p[at + 8]
    if u == 0 or strikes < 1 then return t end
    if factor > 1 then
      while strikes > 1 and length < longest do
        length = length * factor
        strikes = strikes - 1
      end
    end
    if length > longest then length = longest end
    return t + length
  end
end

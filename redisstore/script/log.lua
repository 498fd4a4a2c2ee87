-- Of logs, by key: the time that counts, the entries as they are stored, where
-- in them the view begins, the units before it, and the units of that time.
local V, E, F, G, P
local logLoad, logReleased, logTake, logValue
if logs or changes then
  V, E, F, G, P = {}, {}, {}, {}, {}

  -- The answer tells of a log the time that counts, the units in view, the last
  -- entry and the stored time, 7 bytes each.
  logLoad = function(k, v, window)
    local t, at, used, before, entries, from, last, pending = 0, now, 0, 0, '', 1, 0, 0
    if v and #v >= 14 and #v % 14 == 0 then
      local stored, units = unpackInts('<I7I7', v)
      if stored <= LATEST and units <= MOST then
        t, used, entries = stored, units, sub(v, 15)
        if t > at then at = t end
        local size = #entries
        while from < size do
          local entry, n = unpackInts('<I7I7', entries, from)
          if at - entry < window then break end
          before = before + n
          from = from + 14
        end
        used = used - before
        if used < 0 then used = 0 end
        if from < size then
          last, units = unpackInts('<I7I7', entries, size - 13)
          if last == at then
            pending = units
            entries = sub(entries, 1, size - 14)
          end
        end
      end
    end
    V[k], E[k], F[k], G[k], P[k] = at, entries, from, before, pending
    return t, used, 0, pack('<I7I7I7I7', at, used, last, t)
  end

  -- When the oldest units of a log, so many, were all taken.
  logReleased = function(k, units)
    local entries = E[k]
    for i = F[k], #entries, 14 do
      local at, n = unpackInts('<I7I7', entries, i)
      units = units - n
      if units <= 0 then return at end
    end
    return V[k]
  end

  -- Takes a cost. What may be undone keeps the entries that a log has out of
  -- view.
  logTake = function(k, cost, undoable)
    local key = 4 * k - 3
    local u = S[key + 1]
    local after = u + cost
    if after > MOST then after = MOST end
    P[k] = P[k] + after - u
    if F[k] > 1 and not undoable then E[k], F[k], G[k] = sub(E[k], F[k]), 1, 0 end
    S[key], S[key + 1] = V[k], after
  end

  -- What is stored, when it is as good as new, and the units in it.
  logValue = function(k, t, u, window)
    local entries, ends = E[k], nil
    if P[k] > 0 then
      entries = entries .. pack('<I7I7', V[k], P[k])
      ends = V[k] + window
    elseif entries ~= '' then
      ends = unpackInts('<I7', entries, #entries - 13) + window
    end -- else no entry is left, whatever a damaged value says of units
    u = u + G[k]
    return pack('<I7I7', t, u) .. entries, ends, u
  end
end

-- Decides requests. Each charge is judged on the state as it is and what the
-- request takes of the same key before it; then all that fit are taken, or none
-- is.
local before = repeats and {} -- by key: what the request takes of it before
-- From 4 * i + 1: whether charge i fits, and the state it found. Of a penalty
-- the first is whether it strikes.
local judged = { false, 0, 0, 0, false, 0, 0, 0, false, 0, 0, 0 }
while pos <= size do
  local count, undoable = p[pos], false
  if count == -2 then
    pos = pos + 1
    count, undoable = p[pos], true
  end
  local admitted, blocked = true, false
  for i = 0, count - 1 do
    local k, at, own = p[pos + 3 * i + 1], p[pos + 3 * i + 2], p[pos + 3 * i + 3]
    local mode, key = at % 8, 4 * k - 3
    at = (at - mode) / 8
    local a, quota, window, capacity = p[at], p[at + 1], p[at + 2], p[at + 3]
    local cost = own
    if mode == GUARD then
      cost = 0
    elseif repeats then
      cost = cost + (before[k] or 0)
      if cost > MOST then cost = MOST end
    end
    local t, u, r, fit
    repeat
      t, u, r = S[key], S[key + 1], S[key + 2]
      if not t then
        local v, found = values[k], nil
        if a == LOG then
          t, u, r, found = logLoad(k, v, window)
        else
          --> load
        end
        S[key], S[key + 1], S[key + 2], S[key + 3] = t, u, r, false
        out[k + 1] = found
      end
      if a == PENALTY then
        local ends = blockedUntil(at, t, u)
        if t < now then t = now end
        if t >= ends + window then u = 0 end
        fit = t >= ends or u == 0
      else
        --> view
        --> fits
      end
      -- A value without expiry would be kept for ever: it is read as fresh. Only
      -- a denial has to look, since whatever else happens writes the key anew.
      local immortal = not fit and values[k] and not S[key + 3] and call('PTTL', KEYS[k]) == -1
      if immortal then values[k], S[key] = false, nil end
    until not immortal
    if a == LOG then
      local released = 0
      if not fit and own <= capacity then released = logReleased(k, u + cost - capacity) end
      releases[#releases + 1] = pack('<I7', released)
    end
    local takes = mode == FORCE or fit and mode <= SHADOW
    admitted = admitted and (fit or mode ~= ENFORCE and mode ~= GUARD)
    if mode == GUARD then blocked = blocked or not fit end
    if mode == GUARD then fit = fit and i > 0 and p[pos + 3 * i - 1] % 8 <= PEEK and not judged[4 * i - 3] end
    if count > 1 then
      if repeats and takes then before[k] = cost end
      local j = 4 * i
      judged[j + 1], judged[j + 2], judged[j + 3], judged[j + 4] = fit, t, u, r
    elseif takes and cost > 0 then
      if a == LOG then
        logTake(k, cost, undoable)
      else
        u = u + cost
        if u > MOST then u = MOST end
        S[key], S[key + 1], S[key + 2] = t, u, r
      end
      S[key + 3] = at
    end
  end
  if count > 1 then
    for i = 0, count - 1 do
      local k, at, cost = p[pos + 3 * i + 1], p[pos + 3 * i + 2], p[pos + 3 * i + 3]
      local mode, key = at % 8, 4 * k - 3
      at = (at - mode) / 8
      if repeats then before[k] = nil end
      local takes = mode == ONDENIAL
      if admitted then takes = mode == FORCE or judged[4 * i + 1] and mode <= SHADOW end
      if mode == GUARD then takes = judged[4 * i + 1] and not blocked end
      if takes and cost > 0 then
        if p[at] == LOG then
          logTake(k, cost, undoable and admitted)
        else
          local t, u, r = S[key], S[key + 1], S[key + 2]
          if not S[key + 3] then t, u, r = judged[4 * i + 2], judged[4 * i + 3], judged[4 * i + 4] end
          u = u + cost
          if u > MOST then u = MOST end
          S[key], S[key + 1], S[key + 2] = t, u, r
        end
        S[key + 3] = at
      end
    end
  end
  verdicts[#verdicts + 1] = admitted and '1' or '0'
  pos = pos + 1 + 3 * count
end

-- v, the stored value or false, a, window -> t, u, r and found, what the answer
-- tells of the key: the value or, if it is missing or damaged, a fresh one.
t, u, r, found = 0, 0, 0, false
if a == TOKEN or a == LEAKY then
  if v and #v == 20 then
    t, u, r = unpackInts('<I7I7I6', v)
    if t <= LATEST and u <= MOST and r < window then found = v end
  end
  if not found then t, u, r, found = 0, 0, 0, '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' end
elseif a == SLIDING then
  if v and #v == 21 then
    t, u, r = unpackInts('<I7I7I7', v)
    if t <= LATEST and u <= MOST and r <= MOST then found = v end
  end
  if not found then t, u, r, found = 0, 0, 0, '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' end
elseif a == FIXED or a == PENALTY then
  if v and #v == 14 then
    t, u = unpackInts('<I7I7', v)
    if t <= LATEST and u <= MOST then found = v end
  end
  if not found then t, u, found = 0, 0, '\0\0\0\0\0\0\0\0\0\0\0\0\0\0' end
end

-- Words that every script has.
local SLIDING, FIXED, LOG, TOKEN, LEAKY, PENALTY = 1, 2, 3, 4, 5, 6
local ENFORCE, SHADOW, PEEK, FORCE, ONDENIAL, GUARD = 0, 1, 2, 3, 4, 5 -- the modes
local MOST = 4503599627370495   -- units; a count saturates here
local LATEST = 9007199254740991 -- microseconds
local CENTURY = 3155760000000000

local floor, sub, call = math.floor, string.sub, redis.call
local pack, unpackInts, format = struct.pack, struct.unpack, string.format

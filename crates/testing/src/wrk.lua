-- Sends the requests of a list, one after the other, and prints what was
-- measured as one line that a program reads.
--
-- Arguments: the file with the list, where in it to begin, the number of
-- threads, and "answers" when refusals in JSON are to be counted. A line of the
-- file is method, path, session token and body, separated by tabs.

local threads = {}

function setup(thread)
   thread:set("number", #threads)
   table.insert(threads, thread)
end

local list, position, step = {}, 0, 1
refused = 0

function init(args)
   for line in io.lines(args[1]) do
      local method, path, session, body = line:match("^([^\t]*)\t([^\t]*)\t([^\t]*)\t(.*)$")
      local headers = {}
      if session ~= "" then headers["Cookie"] = "auth=" .. session end
      if body ~= "" then headers["Content-Type"] = "application/x-www-form-urlencoded" end
      list[#list + 1] = wrk.format(method, path, headers, body ~= "" and body or nil)
   end
   position = (tonumber(args[2]) + number) % #list
   step = tonumber(args[3])
   if args[4] == "answers" then
      response = function(status, headers, body)
         if not body:find('"status":"ok"', 1, true) then refused = refused + 1 end
      end
   end
end

function request()
   local next = list[position + 1]
   position = (position + step) % #list
   return next
end

function done(summary, latency, requests)
   local refused_by_all = 0
   for _, thread in ipairs(threads) do refused_by_all = refused_by_all + thread:get("refused") end
   local errors = summary.errors
   print(string.format(
      "measured requests=%d microseconds=%d p50=%d p99=%d status=%d broken=%d timeout=%d refused=%d",
      summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), errors.status,
      errors.connect + errors.read + errors.write, errors.timeout, refused_by_all))
end

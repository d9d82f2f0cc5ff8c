import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AGREEMENT_DIGITS, AGREEMENTS, MARKS, TRANSFER_DIGITS } from '../harness/event-bodies.ts';
import type { Load, Order } from './order.ts';

/** Written for each run: wrk is fastest when its script has no `request` function. */
export function wrkScript(load: Order, folder: string): string {
  const queries = load.queries ?? [''];
  const lines = [`wrk.method = ${quoted(load.method ?? 'GET')}`];
  for (const [name, value] of Object.entries(load.headers ?? {})) lines.push(header(quoted(name), quoted(value)));
  if (load.callers.length * queries.length > 1) lines.push(...requestFunction(load, queries, folder));
  else {
    const { entityId = '', apiKey = '' } = load.callers[0] ?? {};
    lines.push(header('"api-key"', quoted(apiKey)), header('"entity-id"', quoted(entityId)));
  }
  if (load.bodies !== undefined) lines.push(...bodyFunction(load.bodies, load.from ?? 0));
  if (load.amount !== undefined) lines.push(stopAfter(load.amount));
  return [...lines, REPORT].join('\n');
}

/** Joins a path with its query and a caller's headers for each request, instead of keeping a table of all pairs. */
function requestFunction(load: Load, queries: readonly string[], folder: string): string[] {
  const { pathname, host } = new URL(load.url);
  const queriesFile = join(folder, 'queries.txt');
  const callersFile = join(folder, 'callers.txt');
  writeFileSync(queriesFile, queries.map((query) => `GET ${pathname}${query} HTTP/1.1\n`).join(''));
  writeFileSync(
    callersFile,
    load.callers.map(({ entityId, apiKey }) => `api-key: ${apiKey}\\r\\nentity-id: ${entityId}\n`).join(''),
  );
  return [
    `local queries, callers, number = {}, {}, ${load.from ?? 0}`,
    `for line in io.lines(${quoted(queriesFile)}) do queries[#queries + 1] = line .. "\\r\\nHost: ${host}\\r\\n" end`,
    `for line in io.lines(${quoted(callersFile)}) do`,
    '  callers[#callers + 1] = line:gsub("\\\\r\\\\n", "\\r\\n") .. "\\r\\n\\r\\n"',
    'end',
    'local floor = math.floor',
    'function request()',
    '  local caller = number % #callers',
    '  local query = floor(number / #callers) % #queries',
    '  number = number + 1',
    '  return queries[query + 1] .. callers[caller + 1]',
    'end',
  ];
}

/** `numbered` of event-bodies.ts in Lua. All bodies of a template have one length, so that its head is made once. */
function bodyFunction(bodies: readonly string[], from: number): string[] {
  return [
    `local bodies, requests, number = {${bodies.map(quoted).join(', ')}}, {}, ${from}`,
    'function init()',
    '  for place, body in ipairs(bodies) do requests[place] = wrk.format(nil, nil, nil, body) end',
    'end',
    'function request()',
    '  local text = requests[number % #requests + 1]',
    `  text = text:gsub("${MARKS.transfer}", string.format("trf_%0${TRANSFER_DIGITS}d", number), 1)`,
    `  text = text:gsub("${MARKS.agreement}", string.format("agr_%0${AGREEMENT_DIGITS}d", number % ${AGREEMENTS}), 1)`,
    '  number = number + 1',
    '  return text',
    'end',
  ];
}

/** wrk runs for a time and not for a number of requests, so the script ends the process. */
function stopAfter(amount: number): string {
  return `
local responses, errors = 0, 0
function response(status)
  responses = responses + 1
  if status >= 400 then errors = errors + 1 end
  if responses == ${amount} then
    print(string.format('{"requests":%d,"errors":%d}', responses, errors))
    io.stdout:flush()
    os.exit(0)
  end
end`;
}

const REPORT = `
function done(summary, latency, requests)
  local e = summary.errors
  local errors = e.connect + e.read + e.write + e.status + e.timeout
  print(string.format('{"requests":%d,"perSecond":%f,"p50Ms":%f,"p99Ms":%f,"errors":%d}', summary.requests,
    summary.requests / summary.duration * 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, errors))
end`;

function header(name: string, value: string): string {
  return `wrk.headers[${name}] = ${value}`;
}

/** JSON and Lua escape plain ASCII alike, and keys, paths and bodies hold nothing else. */
function quoted(text: string): string {
  return JSON.stringify(text);
}

import { type Command, InvalidArgumentError } from 'commander';
import { showCount } from '../../domain/errors.ts';
import { collect, duration, parseList, parseNetworks, wholeNumber } from '../options/values.ts';
import { addConnectionOptions, type ConnectionOptions } from '../server/connection.ts';
import { readFilter } from '../server/webhooks/filter-option.ts';
import { UsageError } from '../terminal/command-error.ts';
import { addExamples } from '../terminal/help.ts';
import { listenOn } from '../terminal/listen-on.ts';
import { paint, printJson, printLine, printOnStderr } from '../terminal/output.ts';
import { terminal } from '../terminal/terminal.ts';
import { loadKeys } from './keys.ts';
import {
  type ReceivedRequest,
  type Receiver,
  type ReceiverOptions,
  type SentResponse,
  startReceiver,
} from './receiver.ts';
import { forwardEvents } from './session/forward-events.ts';
import { showRequest, showResponse } from './show-request.ts';
import { createSignatureCheck } from './signature-check.ts';

const COUNT = wholeNumber(1, 1_000_000_000, 'Give a whole number of at least 1.');
const DELAY = duration(0, 3_600_000, 'Give a duration of at most an hour, such as 500ms or 5s.');

export function addListen(program: Command): void {
  const listen = program
    .command('listen')
    .description(
      'run a receiver on this machine that shows each request and checks its signature; with --forward and --server, ' +
        'forward the events of a server to a program that it cannot reach',
    )
    .option('--port <number>', 'port to listen on; 0 picks a free one', wholeNumber(0, 65_535), 3000)
    .option('--host <host>', 'address to listen on', '127.0.0.1')
    .option('--secret <whsec>', 'secret or public key to check signatures with; may be repeated', collect)
    .option('--no-check', 'do not check signatures')
    .option('--forward <url>', 'forward each request to this URL and relay the response', parseTarget)
    .option('--fail <n>', 'fail the first n attempts of each delivery, with 500 or --status', COUNT)
    .option('--status <code>', 'respond with this status, such as 503', wholeNumber(200, 599))
    .option('--delay <duration>', 'wait before each response, such as 5s', DELAY)
    .option('--count <n>', 'exit after n requests', COUNT)
    .option('--json', 'print one line of JSON for each request')
    .option('--events <kinds>', 'with --server: only these kinds of events, comma-separated', parseList)
    .option('--networks <ids>', 'with --server: only events of these networks, comma-separated', parseNetworks)
    .option('--filter <json>', 'with --server: only events whose payload matches this filter');
  addConnectionOptions(listen);
  addExamples(
    listen,
    [
      'listen --port 3000',
      'listen --forward http://localhost:8000/hook',
      'listen --forward http://localhost:3000/hook --server https://paybell.example.com',
      'listen --fail 2 --status 503',
    ],
    'With --forward and --server there is no receiver: the server hands each event to\nthis command. It signs them with a separate secret, which is printed at the start.\nOtherwise secrets come from --secret, from PAYBELL_SECRET, or from the server, if the\nkey may read them. Requests that --fail or --status fails are not forwarded.',
  ).action(run);
}

type Options = ConnectionOptions & {
  port: number;
  host: string;
  secret?: string[];
  check: boolean;
  forward?: string;
  fail?: number;
  status?: number;
  delay?: number;
  count?: number;
  json?: boolean;
  events?: string[];
  networks?: number[];
  filter?: string;
};

async function run(options: Options, command: Command): Promise<void> {
  const { forward, server, events, networks: networkIds } = options;
  if (forward === undefined || server === undefined) {
    refuse(command, ['events', 'networks', 'filter'], 'needs --forward and --server');
    return receive(options);
  }
  refuse(command, RECEIVER_OPTIONS, 'is for the receiver, which --forward with --server does not run');
  const filter = await readFilter(options.filter === undefined ? {} : { filter: options.filter });
  await forwardEvents({
    ...options,
    forward,
    server,
    json: options.json === true,
    wanted: {
      ...(events !== undefined && { events }),
      ...(networkIds !== undefined && { networkIds }),
      ...(filter !== undefined && { filter }),
    },
  });
}

const RECEIVER_OPTIONS = ['port', 'host', 'secret', 'check', 'fail', 'status', 'delay'];

/** Rejects options that would have no effect. */
function refuse(command: Command, names: readonly string[], why: string): void {
  for (const name of names) {
    if (command.getOptionValueSource(name) !== 'cli') continue;
    throw new UsageError(`--${name === 'check' ? 'no-check' : name} ${why}`);
  }
}

async function receive(options: Options): Promise<void> {
  // Registered before the URL is printed, because a script may stop the command as soon as it reads it.
  const stopped = terminal().nextStopSignal();
  const { source, keys, description } = await loadKeys(options);
  const completed = Promise.withResolvers<void>();
  const total = { requests: 0, verified: 0 };
  const print = options.json ? printAsJson : createPrinter();
  const receiver = await startOn(options, {
    plan: { fail: options.fail ?? null, status: options.status ?? null },
    delayMs: options.delay ?? 0,
    forwardTo: options.forward ?? null,
    check: createSignatureCheck(source, keys),
    onRequest: (request) => print(request, null),
    onResponse: (request, response) => {
      total.requests++;
      if (request.signature.state === 'verified') total.verified++;
      print(request, response);
      if (total.requests === options.count) completed.resolve();
    },
  });
  // With --json, standard output has only the requests.
  const say = options.json ? printOnStderr : printLine;
  say(`Listening on ${paint(receiver.url, 'cyan')}; stop with Ctrl-C.\n${paint(description, 'dim')}`);
  if (options.forward !== undefined) {
    const forwarding = `Requests to this receiver are forwarded to ${options.forward}. Add --server to forward the events of a server instead.`;
    say(paint(forwarding, 'dim'));
  }
  await Promise.race([completed.promise, stopped]);
  await receiver.stop();
  say(paint(`${showCount(total.requests, 'request')}, ${total.verified} verified.`, 'dim'));
}

function startOn({ host, port }: Options, receiver: Omit<ReceiverOptions, 'host' | 'port'>): Promise<Receiver> {
  const target = { host, port, hostSetting: '--host', portSetting: '--port' };
  return listenOn(target, (address) => startReceiver({ ...receiver, host: address, port }));
}

type Print = (request: ReceivedRequest, response: SentResponse | null) => void;

/** Prints a request when it arrives, and its response when it is sent, which is later with --delay. */
function createPrinter(): Print {
  let last: ReceivedRequest | null = null;
  return (request, response) => {
    if (response === null) for (const line of ['', ...showRequest(request)]) printLine(line);
    else printLine(showResponse(request, response, last === request));
    last = request;
  };
}

function printAsJson({ signature, ...request }: ReceivedRequest, response: SentResponse | null): void {
  if (response !== null) printJson({ ...request, signature: signature.state, ...response });
}

function parseTarget(text: string): string {
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol)) return text;
  throw new InvalidArgumentError('Give a URL such as http://localhost:8000/hook.');
}

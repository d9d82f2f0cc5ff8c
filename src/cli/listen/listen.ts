import { type Command, InvalidArgumentError } from 'commander';
import { PaybellError } from '../../client/errors.ts';
import { parseDurationMs } from '../../config.ts';
import { importKey } from '../../verify/keys.ts';
import { addConnectionOptions, type ConnectionOptions, connectionIfAny } from '../server/connection.ts';
import { clientFor } from '../server/session.ts';
import { CommandError, EXIT } from '../terminal/command-error.ts';
import { addExamples } from '../terminal/help.ts';
import { PAYBELL } from '../terminal/invocation.ts';
import { listenOn } from '../terminal/listen-on.ts';
import { paint, printable, printJson, printLine } from '../terminal/output.ts';
import { nextStopSignal } from '../terminal/stop-signal.ts';
import { type Answer, type Post, type Receiver, type ReceiverOptions, startReceiver } from './receiver.ts';
import { showAnswer, showPost } from './show-request.ts';
import { createSignatureCheck, type KeySource } from './signature-check.ts';

export function addListen(program: Command): void {
  const listen = program
    .command('listen')
    .description('a receiver on this machine: shows each post and checks its signature')
    .option('--port <number>', 'port to listen on; 0 for any free one', parsePort, 3000)
    .option('--host <host>', 'address to listen on', '127.0.0.1')
    .option('--secret <whsec>', 'check with this secret or public key; may be given again', collect)
    .option('--no-check', 'do not check signatures')
    .option('--forward <url>', 'pass each post on, and relay the answer', parseTarget)
    .option('--fail <n>', 'fail the first n posts of each delivery, with 500 or --status', parseCount)
    .option('--status <code>', 'answer with this status, such as 503', parseStatus)
    .option('--delay <duration>', 'wait before each answer, such as 5s', parseDelay)
    .option('--count <n>', 'end after so many posts', parseCount)
    .option('--json', 'print a line of JSON for each post');
  addConnectionOptions(listen);
  addExamples(
    listen,
    ['listen --port 3000', 'listen --forward http://localhost:8000/hook', 'listen --fail 2 --status 503'],
    'Secrets come from --secret, from PAYBELL_SECRET, or from the server, if the\nkey may read them. With --forward, posts made to fail are not passed on.',
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
};

async function run(options: Options): Promise<void> {
  // Before anything is said: whoever reads that it listens may end it in the same moment.
  const stopped = nextStopSignal();
  const { source, keys, from } = await keysFor(options);
  const enough = Promise.withResolvers<void>();
  const tally = { posts: 0, verified: 0 };
  const show = options.json ? printPostAsJson : createShow();
  const receiver = await startOn(options, {
    plan: { fail: options.fail ?? null, status: options.status ?? null },
    delayMs: options.delay ?? 0,
    forwardTo: options.forward ?? null,
    check: createSignatureCheck(source, keys),
    onPost: (post) => show(post, null),
    onAnswer: (post, answer) => {
      tally.posts++;
      if (post.signature.state === 'verified') tally.verified++;
      show(post, answer);
      if (tally.posts === options.count) enough.resolve();
    },
  });
  // Standard output has nothing but the posts when a program reads it.
  const say = options.json ? (text: string) => process.stderr.write(`${text}\n`) : printLine;
  say(`Listening on ${paint(receiver.url, 'cyan')} until Ctrl-C.\n${paint(from, 'dim')}`);
  await Promise.race([enough.promise, stopped]);
  await receiver.stop();
  say(paint(`${tally.posts} ${tally.posts === 1 ? 'post' : 'posts'}, ${tally.verified} of them verified.`, 'dim'));
}

function startOn({ host, port }: Options, receiver: Omit<ReceiverOptions, 'host' | 'port'>): Promise<Receiver> {
  const target = { host, port, hostSetting: '--host', portSetting: '--port' };
  return listenOn(target, (address) => startReceiver({ ...receiver, host: address, port }));
}

type Keys = { source: KeySource | null; keys: readonly string[]; from: string };

async function keysFor(options: Options): Promise<Keys> {
  if (!options.check) return { source: null, keys: [], from: 'Signatures are not checked.' };
  const given = [...(options.secret ?? []), ...(process.env.PAYBELL_SECRET ?? '').split(/[\s,]+/)].filter(Boolean);
  if (given.length > 0) {
    await requireKeys(given);
    return { source: null, keys: given, from: 'Signatures are checked with the given secrets.' };
  }
  const connection = connectionIfAny(options);
  if (connection === null) {
    return { source: null, keys: [], from: `Signatures are not checked: give --secret, or use ${PAYBELL} login.` };
  }
  const client = clientFor(connection);
  const source: KeySource = async () => {
    const { secrets, publicKey } = await client.secrets.list({ retries: 0 });
    return [...secrets.map(({ secret }) => secret), publicKey];
  };
  try {
    return { source, keys: await source(), from: `Signatures are checked with the secrets of ${connection.url}.` };
  } catch (error) {
    if (!(error instanceof PaybellError)) throw error;
    return { source, keys: [], from: `Signatures are not checked yet: ${printable(error.message)}` };
  }
}

async function requireKeys(given: readonly string[]): Promise<void> {
  try {
    await Promise.all(given.map(importKey));
  } catch (error) {
    throw new CommandError(`--secret or PAYBELL_SECRET: ${error instanceof Error ? error.message : error}`, EXIT.usage);
  }
}

/** The post when it comes and the answer when it goes: with a delay in between, both are worth seeing at once. */
function createShow(): (post: Post, answer: Answer | null) => void {
  let last: Post | null = null;
  return (post, answer) => {
    if (answer === null) for (const line of ['', ...showPost(post)]) printLine(line);
    else printLine(showAnswer(post, answer, last === post));
    last = post;
  };
}

function printPostAsJson({ signature, ...post }: Post, answer: Answer | null): void {
  if (answer !== null) printJson({ ...post, signature: signature.state, ...answer });
}

function collect(value: string, earlier: readonly string[] = []): string[] {
  return [...earlier, value];
}

function parsePort(text: string): number {
  return wholeNumber(text, 0, 65_535, 'a port from 0 to 65535');
}

function parseCount(text: string): number {
  return wholeNumber(text, 1, 1_000_000_000, 'a whole number from 1 on');
}

function parseStatus(text: string): number {
  return wholeNumber(text, 200, 599, 'a status from 200 to 599');
}

function wholeNumber(text: string, min: number, max: number, rule: string): number {
  const value = /^[0-9]{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new InvalidArgumentError(`Give ${rule}.`);
}

function parseDelay(text: string): number {
  const ms = parseDurationMs(text);
  if (ms !== null && ms <= 3_600_000) return ms;
  throw new InvalidArgumentError('Give a duration of at most an hour, such as 500ms or 5s.');
}

function parseTarget(text: string): string {
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol)) return text;
  throw new InvalidArgumentError('Give a URL such as http://localhost:8000/hook.');
}

import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { getServers, setServers } from 'node:dns';
import { isIPv4, isIPv6 } from 'node:net';
import { type Answer, decode, encode, type Question, RECURSION_AVAILABLE, RECURSION_DESIRED } from 'dns-packet';

/** Addresses, and names with a trailing dot for a CNAME; or a failure of the server. */
export type Reply = readonly string[] | 'NXDOMAIN' | 'SERVFAIL' | 'garbage' | 'silence';

/** For each name one reply, or a sequence with one for each lookup, whose last reply repeats. */
export type Zone = Readonly<Record<string, Reply | { sequence: readonly Reply[] }>>;

type Options = {
  /** For every name that is not in the zone. */
  otherwise?: Reply;
  ttlS?: number;
};

const RCODE = { NXDOMAIN: 3, SERVFAIL: 2 } as const;
const MAX_CHAIN = 8;

/**
 * A name server on loopback. While it runs, the resolver of this process uses only this server, so that tests cover the
 * lookup of the service down to the datagram.
 */
export class DnsServer implements AsyncDisposable {
  /** Every question, as `A name`. */
  readonly questions: string[] = [];
  readonly #before = getServers();
  readonly #unanswered = new Map<number, { question: Question; id: number; from: RemoteInfo }>();

  private constructor(
    private readonly socket: Socket,
    private readonly zone: Zone,
    private readonly options: Options,
  ) {
    socket.on('message', (message, from) => this.#answer(message, from));
    setServers([`127.0.0.1:${socket.address().port}`]);
  }

  static async start(zone: Zone, options: Options = {}): Promise<DnsServer> {
    const socket = createSocket('udp4');
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.bind(0, '127.0.0.1', resolve);
    });
    return new DnsServer(socket, zone, options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // The resolver would send an open question to the next server, which may be outside of this machine.
    for (const { question, id, from } of this.#unanswered.values()) this.#send(question, id, from, RCODE.NXDOMAIN, []);
    await Bun.sleep(20);
    setServers(this.#before);
    await new Promise<void>((resolve) => this.socket.close(() => resolve()));
  }

  #answer(message: Buffer, from: RemoteInfo): void {
    const { id = 0, questions = [] } = decode(message);
    const [question] = questions;
    if (question === undefined) return;
    const asked = `${question.type} ${question.name}`;
    this.questions.push(asked);
    const reply = this.#replyFor(question.name, this.questions.filter((question) => question === asked).length);
    if (reply === 'silence') {
      this.#unanswered.set(id, { question, id, from });
    } else if (reply === 'garbage') {
      this.socket.send(Buffer.concat([message.subarray(0, 2), Buffer.alloc(40, 0xff)]), from.port, from.address);
    } else if (typeof reply === 'string') {
      this.#send(question, id, from, RCODE[reply], []);
    } else {
      this.#send(question, id, from, 0, this.#records(question.name, question.type, reply));
    }
  }

  #send(question: Question, id: number, { port, address }: RemoteInfo, rcode: number, answers: Answer[]): void {
    const flags = RECURSION_DESIRED | RECURSION_AVAILABLE | rcode;
    this.socket.send(encode({ type: 'response', id, flags, questions: [question], answers }), port, address);
  }

  #replyFor(name: string, times: number): Reply {
    const held = this.zone[name.toLowerCase()] ?? this.options.otherwise ?? 'NXDOMAIN';
    if (typeof held === 'string' || !('sequence' in held)) return held;
    return held.sequence[Math.min(times, held.sequence.length) - 1] ?? 'NXDOMAIN';
  }

  /** The answer of a recursive server: the chain of names and the addresses at its end. */
  #records(name: string, type: string, reply: readonly string[], depth = 0): Answer[] {
    const { ttlS: ttl = 0 } = this.options;
    return reply.flatMap((value): Answer[] => {
      if (isIPv4(value)) return type === 'A' ? [{ type: 'A', name, ttl, data: value }] : [];
      if (isIPv6(value)) return type === 'AAAA' ? [{ type: 'AAAA', name, ttl, data: value }] : [];
      const target = value.replace(/\.$/, '');
      const next = depth < MAX_CHAIN ? this.#replyFor(target, 1) : 'NXDOMAIN';
      const rest = typeof next === 'string' ? [] : this.#records(target, type, next, depth + 1);
      return [{ type: 'CNAME', name, ttl, data: target }, ...rest];
    });
  }
}

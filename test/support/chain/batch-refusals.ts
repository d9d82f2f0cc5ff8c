import type { Exchange, Fetch } from '../../../src/chain/rpc/http-exchange.ts';
import { httpExchange } from '../../../src/chain/rpc/http-exchange.ts';

/** The ways in which providers refuse a batch, each as the response that they send. */

type Answer = (calls: readonly unknown[]) => Promise<readonly unknown[]>;
type Refuse = (calls: readonly unknown[], answer: Answer) => Response | Promise<Response>;

const ERROR = { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'batches are not supported' } };
const withStatus = (status: number): Refuse => {
  return () => new Response('Batch requests are not allowed', { status });
};

export const REFUSALS: Readonly<Record<string, Refuse>> = {
  ...Object.fromEntries(
    [400, 403, 405, 413, 422, 500, 501].map((status) => [`status ${status} and text`, withStatus(status)]),
  ),
  'status 400 and JSON': () => Response.json(ERROR, { status: 400 }),
  'status 500 and JSON': () => Response.json(ERROR, { status: 500 }),
  'one error object': () => Response.json(ERROR),
  'a list with one error': () => Response.json([ERROR]),
  'an empty list': () => Response.json([]),
  'the answer to the first call alone': async (calls, answer) => Response.json(await answer(calls.slice(0, 1))),
  'all answers but the last': async (calls, answer) => Response.json(await answer(calls.slice(0, -1))),
  'a dropped connection': () => Promise.reject(new Error('The socket was closed')),
};

/** A provider in front of a node that refuses batches of more than `most` calls. `requests` has the calls of each request. */
export function refusing(node: Exchange, refuse: Refuse, most = 1): { exchange: Exchange; requests: number[] } {
  const requests: number[] = [];
  const fetch: Fetch = async (_, { body }) => {
    const payload: unknown = JSON.parse(String(body));
    const calls = Array.isArray(payload) ? payload : [payload];
    requests.push(calls.length);
    if (calls.length > most) return refuse(calls, async (some) => (await node([...some])) as unknown[]);
    return Response.json(await node(payload));
  };
  return { exchange: httpExchange({ url: 'http://node.example.com/', fetch }), requests };
}

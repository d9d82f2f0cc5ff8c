import { RpcFailure } from '../rpc/failures.ts';
import type { Node } from '../rpc/node.ts';

/** Two responses of one poll contradict each other: a reorg came in between, or two nodes are behind one URL. */
export class InDoubt extends Error {
  override readonly name = 'InDoubt';
}

const ATTEMPTS = 3;

/** Repeats a request whose response was in doubt. Behind one URL, the next request may reach another node. */
export async function retryInDoubt<Result>(ask: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof InDoubt) || attempt === ATTEMPTS) throw error;
    }
  }
}

/** Notes a failure of the node and returns it. Paybell then does not ask the node for a while. */
export function garbageFrom(node: Node): RpcFailure {
  const failure = new RpcFailure('garbage');
  node.noteFailure(failure);
  return failure;
}

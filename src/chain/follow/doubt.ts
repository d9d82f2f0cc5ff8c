import { RpcFailure } from '../rpc/failures.ts';
import type { Node } from '../rpc/node.ts';

/** Two responses of one poll that cannot both be true: a reorg in between, or two nodes behind one URL. */
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

/** Notes a failure of the node, which is then left alone for a while, and returns the failure. */
export function garbageFrom(node: Node): RpcFailure {
  const failure = new RpcFailure('garbage');
  node.noteFailure(failure);
  return failure;
}

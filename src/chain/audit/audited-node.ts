import { blockAt, taggedBlock } from '../evm/rpc/calls.ts';
import type { Header } from '../follow/header.ts';
import type { Outcomes } from '../rpc/batch.ts';
import type { Call } from '../rpc/call.ts';
import { RpcFailure } from '../rpc/failures.ts';
import type { Node } from '../rpc/node.ts';

/** The audit has used all calls that it may make. */
export class CallsUsedError extends Error {
  override readonly name = 'CallsUsedError';
}

/** Failures in a row after which the audit ends. */
const MAX_FAILURES = 5;

/** The node that an audit reads from. Waits and repeats a request that failed, and counts all calls. */
export class AuditedNode {
  constructor(
    readonly node: Node,
    private readonly maxCalls: number,
    private readonly sleep: (ms: number) => Promise<unknown> = (ms) => Bun.sleep(ms),
  ) {}

  get calls(): number {
    return this.node.calls;
  }

  /** Throws `CallsUsedError` at the limit of calls. */
  async ask<Value>(work: (node: Node) => Promise<Value>): Promise<Value> {
    for (let failures = 0; ; ) {
      if (this.calls >= this.maxCalls) throw new CallsUsedError();
      try {
        return await work(this.node);
      } catch (error) {
        const mayHelp = error instanceof RpcFailure && error.kind !== 'wrong_chain' && error.kind !== 'too_large';
        if (!mayHelp || ++failures >= MAX_FAILURES) throw error;
        await this.sleep(this.node.waitMs);
      }
    }
  }

  async send(calls: readonly Call<unknown>[]): Promise<Outcomes> {
    return this.ask((node) => node.send(calls));
  }

  async head(): Promise<Header> {
    const latest = taggedBlock('latest');
    const head = (await this.send([latest])).value(latest);
    if (head === null) throw new RpcFailure('garbage');
    return head;
  }

  /** The first block at or after this time, or the block after the head if all are earlier. At most 64 calls. */
  async firstBlockAt(timeS: number, head: Header): Promise<number> {
    if (head.timestampS < timeS) return head.number + 1;
    let [low, high] = [0, head.number];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const call = blockAt(middle);
      const block = (await this.send([call])).value(call);
      if (block === null) throw new RpcFailure('garbage');
      if (block.timestampS < timeS) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

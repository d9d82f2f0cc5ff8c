import { type Argument, encodeArguments } from './abi-encoding.ts';
import type { Contract } from './compile-contracts.ts';

export type Call = {
  readonly to?: string;
  readonly data: string;
  readonly gas?: number;
  /** The coin that it moves. */
  readonly value?: bigint;
};

export class DeployedContract {
  constructor(
    private readonly name: string,
    readonly address: string,
    private readonly contract: Contract,
  ) {}

  /** The call of a function, by its signature such as `transfer(address,uint256)`. */
  call(signature: string, values: readonly Argument[], gas?: number): Call {
    const selector = this.contract.selectors[signature];
    if (selector === undefined) throw new Error(`${this.name} has no function ${signature}`);
    const types = signature.slice(signature.indexOf('(') + 1, -1);
    const data = `0x${selector}${encodeArguments(types, values)}`;
    return { to: this.address, data, ...(gas === undefined ? {} : { gas }) };
  }
}

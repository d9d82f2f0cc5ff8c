import { encodeAbiParameters } from 'viem/utils';
import { type AbiLibrary, loadAbiLibrary } from '../../../src/chain/evm/decode/abi-library.ts';
import type { CallOutcome, ContractCall } from '../../../src/chain/evm/decode/contract-calls.ts';
import { type DecoderOptions, LogDecoder, type SkipReason } from '../../../src/chain/evm/decode/decoder.ts';
import { type EventAbi, parseEventAbi } from '../../../src/chain/evm/decode/definition/event-abi.ts';
import { PRESET_RULES, presetRules } from '../../../src/chain/evm/decode/definition/presets.ts';
import type { Log } from '../../../src/chain/evm/rpc/types.ts';
import type { EvmPreset, SourceDefinition } from '../../../src/domain/chain/source-definition.ts';
import type { StatedToken } from '../../../src/domain/chain/tokens.ts';
import type { FollowedSource } from '../../../src/store/chain/network-store.ts';

/** Logs as contracts would write them, encoded by viem, which the decoder does not use for them. */

export const NETWORK = 8453;
export const CONTRACT = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913';
export const TOKEN = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48';
export const PAYER = '0x71c7656ec7ab88b098defb751b7401b5f6d8976f';
export const PAYEE = '0x52908400098527886e0f7030069857d2e4169ee7';
export const PAYER_CHECKSUMMED = '0x71C7656EC7ab88b098defB751B7401B5f6d8976F';
export const PAYEE_CHECKSUMMED = '0x52908400098527886E0F7030069857D2E4169EE7';

export const library: AbiLibrary = await loadAbiLibrary();

export function eventOf(text: string): EventAbi {
  const event = parseEventAbi(text, library);
  if (typeof event === 'string') throw new Error(event);
  return event;
}

/** The values in the order of the parameters; of an indexed text, bytes, array or tuple, its hash. */
export function logOf(abi: string, values: readonly unknown[], position: Partial<Log> = {}): Log {
  const { topic, parameters } = eventOf(abi);
  const of = (isIndexed: boolean) =>
    parameters.map((each, index) => [each, values[index]] as const).filter(([each]) => each.isIndexed === isIndexed);
  const encode = (list: ReturnType<typeof of>) =>
    encodeAbiParameters(
      list.map(([each]) => each),
      list.map(([, value]) => value),
    );
  const topics = of(true).map(([each, value]) => (each.isHashed ? String(value) : encode([[each, value]])));
  return {
    blockNumber: 100,
    blockHash: `0x${'b'.repeat(64)}`,
    transactionHash: `0x${'7'.repeat(64)}`,
    logIndex: 0,
    address: CONTRACT,
    topics: [topic, ...topics],
    data: encode(of(false)),
    ...position,
  };
}

export function presetLog(preset: EvmPreset, values: readonly unknown[], position?: Partial<Log>): Log {
  return logOf(PRESET_RULES[preset].abi, values, position);
}

export function definitionOf(changes: Partial<SourceDefinition>): SourceDefinition {
  return {
    networkId: NETWORK,
    preset: null,
    contract: CONTRACT,
    abi: null,
    event: null,
    where: {},
    fields: {},
    fromBlock: 'latest',
    deliverHistory: false,
    ...changes,
  };
}

let sources = 0;

export function sourceOf(changes: Partial<SourceDefinition>, followed: Partial<FollowedSource> = {}): FollowedSource {
  const definition = definitionOf(changes);
  const text = presetRules(definition.preset)?.abi ?? definition.abi ?? '';
  const { contract, networkId } = definition;
  return {
    entityId: 'ent_1',
    sourceId: `src_${++sources}`,
    networkId,
    contract: contract.toLowerCase(),
    topic: eventOf(text).topic,
    definition,
    fromBlock: 1,
    createdHead: 0,
    deliverHistory: false,
    nextBlock: null,
    lastBlock: null,
    ...followed,
  };
}

export type TestDecoder = {
  readonly decoder: LogDecoder;
  readonly calls: ContractCall[];
  readonly saved: Map<string, StatedToken>;
  readonly skipped: SkipReason[];
};

export function word(value: bigint | number): string {
  return `0x${BigInt(value).toString(16).padStart(64, '0')}`;
}

/** Every token has 6 decimals unless the given function says something else of it. */
export function testDecoder(
  answer: (call: ContractCall) => CallOutcome | Error = () => ({ data: word(6) }),
  findEntries: NonNullable<DecoderOptions['findEntries']> = async () => [],
): TestDecoder {
  const calls: ContractCall[] = [];
  const saved = new Map<string, StatedToken>();
  const skipped: SkipReason[] = [];
  const decoder = new LogDecoder({
    findEntries,
    tokens: {
      read: async (_, addresses) => new Map([...saved].filter(([address]) => addresses.includes(address))),
      save: async (_, tokens) => {
        for (const [address, token] of tokens) saved.set(address, token);
      },
    },
    callContract: async (_, call) => {
      calls.push(call);
      const outcome = answer(call);
      if (outcome instanceof Error) throw outcome;
      return outcome;
    },
    onSkipped: (_, reason) => skipped.push(reason),
  });
  return { decoder, calls, saved, skipped };
}

import { z } from 'zod';

/** The networks that Paybell follows, as the API shows them. No URL of a node is part of it. */

const CHAIN_STATES = ['starting', 'following', 'behind', 'stalled', 'disagreeing', 'halted'] as const;
const NODE_STATES = ['ok', 'behind', 'frozen', 'failing', 'wrong_chain', 'final_not_credible', 'implausible'] as const;

const block = (what: string) =>
  z
    .int()
    .nullable()
    .meta({ description: `${what}; null before it is known.` });

const age = (what: string) =>
  z
    .int()
    .min(0)
    .nullable()
    .meta({ description: `${what}, in seconds; null before it is known.` });

export const chainNodeSchema = z
  .strictObject({
    name: z.string().meta({ description: 'The network and the node’s place in the operator’s setting.' }),
    state: z.enum(NODE_STATES).meta({
      description:
        '`behind` the other nodes; `frozen` if its head stays the same while another node has more blocks; `failing` since its ' +
        'last call; `wrong_chain` if it is on another network or has another block at finality; `final_not_credible` if it ' +
        'calls no block final, or a block that is too near to its head; `implausible` if its head is far above all others, or ' +
        'in the future.',
    }),
    head: block('The newest block that it knows'),
    behindBlocks: z
      .int()
      .min(0)
      .nullable()
      .meta({ description: 'Blocks from its head to the highest head of that moment; null before its head is known.' }),
    headAgeSeconds: age('Age of its newest block, by the timestamp of the block'),
    finalized: block('The newest block that it calls final'),
    callsLastHour: z.int().min(0).meta({
      description:
        'Calls of the last hour by the process that follows the network. Calls inside of a batch count one by one.',
    }),
    lastError: z.string().nullable().meta({ description: 'The kind of its last failure, if there was one.' }),
    dateLastOk: z.int().nullable().meta({ description: 'When it last responded well, in Unix seconds.' }),
  })
  .meta({ id: 'ChainNode', description: 'A node of a network, without its URL.' });

const exampleChain = {
  networkId: 8453,
  unit: 'block' as const,
  name: 'Base',
  state: 'following',
  reason: null,
  head: 38214507,
  safe: 38214450,
  final: 38213900,
  tip: 38214507,
  lagBlocks: 0,
  lagSeconds: 1,
  dateHead: 1763168399,
  headAgeSeconds: 1,
  finalAgeSeconds: 1215,
  usualFinalSeconds: 1200,
  witnesses: { needed: 1, present: 1 },
  nodes: [
    {
      name: '8453#1',
      state: 'ok',
      head: 38214507,
      behindBlocks: 0,
      headAgeSeconds: 1,
      finalized: 38213900,
      callsLastHour: 4695,
      lastError: null,
      dateLastOk: 1763168400,
    },
  ],
};

export const chainSchema = z
  .strictObject({
    networkId: z.int().meta({ description: 'The network.' }),
    unit: z.enum(['block', 'slot']).meta({ description: 'The unit of heights and confirmations: slots on Solana.' }),
    name: z.string().meta({ description: 'Its name, for people.' }),
    state: z.enum(CHAIN_STATES).meta({
      description:
        '`starting` before its first poll; `following`; `behind` if there are blocks that are not read yet, or if it was not ' +
        'polled for a while; `stalled` if no node has a new block; `disagreeing` if nodes have different blocks and no branch ' +
        'has a quorum; `halted` if a block that was final is gone, until the operator resumes it.',
    }),
    reason: z.string().nullable().meta({ description: 'What is wrong, as a sentence; null if nothing is.' }),
    head: block('The newest block'),
    safe: block('The newest block that the network calls safe'),
    final: block('The newest block that cannot be undone'),
    tip: block('The newest block whose logs are read'),
    lagBlocks: z
      .int()
      .min(0)
      .nullable()
      .meta({ description: 'Blocks from `tip` to `head`; null before both are known.' }),
    lagSeconds: z.int().min(0).nullable().meta({ description: 'The same as `headAgeSeconds`.', deprecated: true }),
    dateHead: z
      .int()
      .nullable()
      .meta({ description: 'Timestamp of the newest block, in Unix seconds; null before it is known.' }),
    headAgeSeconds: age('Age of the newest block, by the timestamp of the block'),
    finalAgeSeconds: age('Age of the newest final block, estimated by the block time'),
    usualFinalSeconds: age('Time that a block usually takes to become final'),
    witnesses: z
      .strictObject({
        needed: z.int().meta({ description: 'Nodes that must agree on what is final.' }),
        present: z.int().meta({ description: 'Nodes that keep up and say what is final.' }),
      })
      .nullable()
      .meta({ description: 'Nodes that decide what is final; null before the first poll.' }),
    nodes: z.array(chainNodeSchema).meta({ description: 'Its nodes, as the last poll found them.' }),
  })
  .meta({ id: 'Chain', description: 'How far a network is followed.', example: exampleChain });

export type Chain = z.output<typeof chainSchema>;

export const chainListSchema = z
  .strictObject({ chains: z.array(chainSchema) })
  .meta({ id: 'ChainList', description: 'The networks that are followed.', example: { chains: [exampleChain] } });

export type ChainList = z.output<typeof chainListSchema>;

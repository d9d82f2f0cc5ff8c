import { z } from 'zod';

/** The networks that Paybell follows, as the API shows them. No URL of a node is part of it. */

const CHAIN_STATES = ['starting', 'following', 'behind', 'halted'] as const;
const NODE_STATES = ['ok', 'behind', 'failing', 'wrong_chain'] as const;

const block = (what: string) =>
  z
    .int()
    .nullable()
    .meta({ description: `${what}; null before it is known.` });

export const chainNodeSchema = z
  .strictObject({
    name: z.string().meta({ description: 'The network and the node’s place in the operator’s setting.' }),
    state: z.enum(NODE_STATES).meta({
      description: '`behind` the other nodes, `failing` since its last call, or on another network (`wrong_chain`).',
    }),
    head: block('The newest block that it knows'),
    lastError: z.string().nullable().meta({ description: 'The kind of its last failure, if there was one.' }),
    dateLastOk: z.int().nullable().meta({ description: 'When it last responded well, in Unix seconds.' }),
  })
  .meta({ id: 'ChainNode', description: 'A node of a network, without its URL.' });

const exampleChain = {
  networkId: 8453,
  name: 'Base',
  state: 'following',
  reason: null,
  head: 38214507,
  safe: 38214450,
  final: 38213900,
  tip: 38214507,
  lagBlocks: 0,
  lagSeconds: 1,
  nodes: [{ name: '8453#1', state: 'ok', head: 38214507, lastError: null, dateLastOk: 1763168400 }],
};

export const chainSchema = z
  .strictObject({
    networkId: z.int().meta({ description: 'The network.' }),
    name: z.string().meta({ description: 'Its name, for people.' }),
    state: z.enum(CHAIN_STATES).meta({
      description:
        '`starting` before its first poll; `following`; `behind` if there are blocks that are not read yet, or if it was not ' +
        'polled for a while; `halted` if a block that was final is gone, until the operator resumes it.',
    }),
    reason: z.string().nullable().meta({ description: 'Why it is behind or halted; null otherwise.' }),
    head: block('The newest block'),
    safe: block('The newest block that the network calls safe'),
    final: block('The newest block that cannot be undone'),
    tip: block('The newest block whose logs are read'),
    lagBlocks: z
      .int()
      .min(0)
      .nullable()
      .meta({ description: 'Blocks from `tip` to `head`; null before both are known.' }),
    lagSeconds: z.int().min(0).nullable().meta({
      description: 'Seconds since the last poll that was stored; null before the first.',
    }),
    nodes: z.array(chainNodeSchema).meta({ description: 'Its nodes, as the last poll found them.' }),
  })
  .meta({ id: 'Chain', description: 'How far a network is followed.', example: exampleChain });

export type Chain = z.output<typeof chainSchema>;

export const chainListSchema = z
  .strictObject({ chains: z.array(chainSchema) })
  .meta({ id: 'ChainList', description: 'The networks that are followed.', example: { chains: [exampleChain] } });

export type ChainList = z.output<typeof chainListSchema>;

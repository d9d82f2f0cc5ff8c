import { z } from 'zod';
import { MAX_DELIVERIES_SHOWN, MAX_FACT_EVENTS_SHOWN, MAX_HISTORY_SHOWN } from '../../domain/chain/facts.ts';
import { MAX_NETWORK_ID } from '../../domain/networks.ts';
import { deliverySchema } from '../deliveries.ts';
import { exactText, oneOf, pagingFields, wholeNumber } from '../list-query.ts';
import { count, date } from '../values.ts';

/** Facts: payments and agreements in transactions, with their state. */

const FACT_STATES = ['waiting', 'seen', 'lost', 'retracted', 'final'] as const;

const state = z.enum(FACT_STATES).meta({
  description:
    '`waiting`: a posted event is held until its transaction is in a block. `seen`: its block is canonical. `lost`: its ' +
    'block is gone, and it may come back. `retracted`: Paybell retracts it from every webhook that may have received it; an ' +
    'event that waited was never delivered: its transaction failed in a block that is final. `final`: it ' +
    'cannot be undone.',
});
const revision = z.int().min(1).meta({ description: 'Counts how often it was seen again after a retraction, from 1.' });
const position = {
  blockNumber: z.int().nullable().meta({ description: 'The block of the transaction; null before it is in one.' }),
  blockHash: z.string().nullable().meta({ description: 'Hash of that block.' }),
  logIndex: z.int().nullable().meta({ description: 'Place of the log in that block.' }),
};

const factFields = {
  factId: z.string().meta({ description: 'Unique identifier of the fact: the same in whichever block it stands.' }),
  networkId: z.int().meta({ description: 'Network of the transaction.' }),
  sourceId: z.string().nullable().meta({ description: 'The source that took the log; null for a held event.' }),
  state,
  revision,
  kind: z.string().meta({ description: '`Transfer`, which is processed and then finalized, or an event kind.' }),
  isSilent: z.boolean().meta({ description: 'Whether it is history for which nothing is delivered.' }),
  isDisputed: z.boolean().meta({
    description: 'Whether as many nodes deny it as show it. Paybell sends no event for it until the nodes agree.',
  }),
  transactionHash: z.string().meta({ description: 'The transaction.' }),
  contract: z.string().nullable().meta({ description: 'The contract that wrote the log; null for a held event.' }),
  ...position,
  transferId: z.string().nullable().meta({ description: 'The transfer that it is about, if the log says it.' }),
  agreementId: z.string().nullable().meta({ description: 'The agreement that it is about, if the log says it.' }),
  fields: z.record(z.string(), z.unknown()).meta({ description: 'The fields of the payload that the log proves.' }),
  dateCreated: date('When it was first seen'),
  dateChanged: date('When its state or its block last changed'),
};

const exampleFact = {
  factId: 'fct_hpnyyoxuwgdt73orfpqwrp4iso',
  networkId: 8453,
  sourceId: 'src_0199c2a6e0b17d3c8a54f1e2d3c4b5a6',
  state: 'seen',
  revision: 1,
  kind: 'Transfer',
  isSilent: false,
  isDisputed: false,
  transactionHash: '0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060',
  contract: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  blockNumber: 38214507,
  blockHash: '0x9c1d3a7e5b20f64886ad1e73c5b9f20d47e8a6c3b1095d2f7e4a8c6b0d31f592',
  logIndex: 12,
  transferId: null,
  agreementId: 'agr_7012',
  fields: { payer: '0x71C7656EC7ab88b098defB751B7401B5f6d8976F', amount: '25', amountBase: '25000000' },
  dateCreated: 1763168400,
  dateChanged: 1763168400,
};

export const factSchema = z.strictObject(factFields).meta({
  id: 'Fact',
  description: 'A payment or an agreement in a transaction, in any state.',
  example: exampleFact,
});

export type Fact = z.output<typeof factSchema>;

export const factListSchema = z
  .strictObject({
    totalResults: count.meta({ description: 'Number of all matching facts, on all pages.' }),
    facts: z.array(factSchema),
  })
  .meta({ id: 'FactList', example: { totalResults: 1, facts: [exampleFact] } });

export type FactList = z.output<typeof factListSchema>;

export const factListQuerySchema = z.strictObject({
  transactionHash: exactText({ description: 'Only facts of this transaction. Case does not matter.' }),
  transferId: exactText({ description: 'Only facts about this transfer.' }),
  agreementId: exactText({ description: 'Only facts about this agreement.' }),
  state: oneOf(FACT_STATES, { description: 'Only facts in this state.' }),
  networkId: wholeNumber(0, MAX_NETWORK_ID, { description: 'Only facts of this network.', example: 8453 }),
  ...pagingFields(['dateCreated']),
});

export type FactListQuery = z.output<typeof factListQuerySchema>;

export const factStepSchema = z
  .strictObject({
    state,
    revision,
    ...position,
    isDisputed: z.boolean().meta({ description: 'Whether nodes disagreed about it then.' }),
    dateCreated: date('When it was so'),
  })
  .meta({ id: 'FactStep', description: 'A state that a fact had, and the block in which it stood.' });

export const factEventSchema = z
  .strictObject({
    eventId: z.string().nullable().meta({ description: 'The event; null until it is accepted.' }),
    event: z.string().meta({ description: 'Event kind; `EventRetracted` takes an earlier one back.' }),
    finality: z.string().meta({
      description: 'The finality at which it was made: `seen`, `safe`, `final` or a number of confirmations.',
    }),
    revision,
    totalDeliveries: count.meta({ description: 'Number of its deliveries.' }),
    deliveries: z
      .array(deliverySchema)
      .max(MAX_DELIVERIES_SHOWN)
      .meta({ description: `The first ${MAX_DELIVERIES_SHOWN} of them at most, oldest first.` }),
  })
  .meta({ id: 'FactEvent', description: 'An event that was made of a fact, with its deliveries.' });

export const factDetailSchema = z
  .strictObject({
    ...factFields,
    history: z
      .array(factStepSchema)
      .max(MAX_HISTORY_SHOWN)
      .meta({ description: `The latest ${MAX_HISTORY_SHOWN} states and positions at most, oldest first.` }),
    events: z
      .array(factEventSchema)
      .max(MAX_FACT_EVENTS_SHOWN)
      .meta({ description: `The latest ${MAX_FACT_EVENTS_SHOWN} events at most that were made of it, oldest first.` }),
  })
  .meta({
    id: 'FactDetail',
    description: 'A fact with its history, its events and their deliveries.',
    example: {
      ...exampleFact,
      history: [
        {
          state: 'seen',
          revision: 1,
          blockNumber: exampleFact.blockNumber,
          blockHash: exampleFact.blockHash,
          logIndex: exampleFact.logIndex,
          isDisputed: false,
          dateCreated: 1763168400,
        },
      ],
      events: [
        {
          eventId: 'fct_hpnyyoxuwgdt73orfpqwrp4iso_1_TransferProcessed_seen',
          event: 'TransferProcessed',
          finality: 'seen',
          revision: 1,
          totalDeliveries: 0,
          deliveries: [],
        },
      ],
    },
  });

export type FactDetail = z.output<typeof factDetailSchema>;

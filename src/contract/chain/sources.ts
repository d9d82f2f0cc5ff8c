import { z } from 'zod';
import { PRESETS } from '../../domain/chain/source-definition.ts';
import { MAX_NETWORK_ID } from '../../domain/networks.ts';
import { exactText, oneOf, pagingFields, wholeNumber } from '../list-query.ts';
import { count } from '../values.ts';

/** Sources as the API shows them. */

const SOURCE_STATES = ['live', 'catching_up', 'paused'] as const;

const exampleSource = {
  sourceId: 'src_0199c2a6e0b17d3c8a54f1e2d3c4b5a6',
  name: null,
  networkId: 8453,
  preset: 'erc20',
  contract: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
  abi: null,
  event: null,
  where: { to: ['0x52908400098527886e0f7030069857d2e4169ee7'] },
  fields: {},
  minAmount: null,
  addressBook: null,
  addressCount: 0,
  isForInvoices: false,
  fromBlock: 38214507,
  deliverHistory: false,
  revision: 1,
  appliesFromBlock: 38214507,
  state: 'live',
  pausedReason: null,
  blocksLeft: 0,
  logRequests: 2114,
  logsReceived: 31,
  dateCreated: 1763168400,
};

export const sourceSchema = z
  .strictObject({
    sourceId: z.string().meta({ description: 'Unique identifier of the source.' }),
    name: z.string().nullable().meta({ description: 'A name for people; null if none was given.' }),
    networkId: z.int().meta({ description: 'Network of the contract.' }),
    preset: z.enum(PRESETS).nullable().meta({ description: 'The preset; null if the source has its own `abi`.' }),
    contract: z.string().meta({ description: 'Address of the contract, in lower case.' }),
    abi: z.string().nullable().meta({ description: 'The event as Solidity declares it; null with a preset.' }),
    event: z.string().nullable().meta({ description: '`Transfer` or an event kind; null with a preset.' }),
    where: z
      .record(z.string(), z.array(z.union([z.string(), z.number(), z.boolean()])))
      .meta({ description: 'The values that a log may have, by the names of the event’s parameters.' }),
    fields: z
      .record(
        z.string(),
        z.union([
          z.string(),
          z.strictObject({ from: z.string(), token: z.string() }),
          z.strictObject({ is: z.union([z.string(), z.number(), z.boolean()]) }),
        ]),
      )
      .meta({ description: 'The fields of the payload and where their values come from.' }),
    minAmount: z.string().nullable().meta({
      description: 'The smallest `amount` that leads to an event, as a decimal; null for any amount.',
    }),
    addressBook: z.string().nullable().meta({
      description:
        'The parameter whose value must be in the address book of the source; null for a source without a book.',
    }),
    addressCount: count.meta({ description: 'Number of addresses in the book.' }),
    isForInvoices: z.boolean().meta({
      description: 'Whether invoices have created the source. It goes with their last address.',
    }),
    fromBlock: z.int().meta({ description: 'The first block whose logs are read.' }),
    deliverHistory: z.boolean().meta({
      description: 'Whether events of blocks before the source was created are delivered too.',
    }),
    revision: z.int().min(1).meta({ description: 'Counts the changes of `where`, `fields` and `minAmount`, from 1.' }),
    appliesFromBlock: z.int().meta({
      description: 'The first block that these settings count for. Earlier blocks keep the settings of their revision.',
    }),
    state: z.enum(SOURCE_STATES).meta({
      description:
        '`catching_up` while blocks from before it was created are still to be read, `paused` if it brought more logs than ' +
        'can be taken or a request paused it, `live` otherwise. After too many logs, Paybell tries it again by itself.',
    }),
    pausedReason: z.string().nullable().meta({ description: 'Why it is paused; null if it is not.' }),
    blocksLeft: count.nullable().meta({
      description: 'Number of earlier blocks that are still to be read; null if that is not known yet.',
    }),
    logRequests: count.meta({
      description:
        'Requests for logs that also asked for the logs of this source. Sources with conditions on the same topics share them. ' +
        'Counted about every minute, so that a crash loses at most a minute.',
    }),
    logsReceived: count.meta({
      description:
        'Logs that nodes sent for this source, with or without an event. A log counts each time that it is read.',
    }),
    dateCreated: z.int().meta({ description: 'Creation time, in Unix seconds.' }),
  })
  .meta({
    id: 'Source',
    description: 'A mapping from the logs of a contract to events of the entity.',
    example: exampleSource,
  });

export type Source = z.output<typeof sourceSchema>;

export const sourceListSchema = z
  .strictObject({
    totalResults: count.meta({ description: 'Number of all matching sources, on all pages.' }),
    sources: z.array(sourceSchema),
  })
  .meta({ id: 'SourceList', example: { totalResults: 1, sources: [exampleSource] } });

export type SourceList = z.output<typeof sourceListSchema>;

export const sourceListQuerySchema = z.strictObject({
  networkId: wholeNumber(0, MAX_NETWORK_ID, { description: 'Only sources on this network.', example: 8453 }),
  contract: exactText({ description: 'Only sources of this contract. Case does not matter.' }),
  state: oneOf(SOURCE_STATES, { description: 'Only sources in this state.' }),
  ...pagingFields(['dateCreated']),
});

export type SourceListQuery = z.output<typeof sourceListQuerySchema>;

/** More logs of a transaction than these are counted, and not explained. */
export const MAX_LOGS_SHOWN = 100;

const previewedEvent = {
  factId: z.string().meta({ description: 'The id of the fact that the log would be.' }),
  kind: z.string().meta({ description: '`Transfer` or an event kind.' }),
  events: z.array(z.string()).meta({ description: 'The event kinds that would be delivered for it; none for dust.' }),
  isDust: z.boolean().meta({ description: 'Whether the amount is 0 or below `minAmount`.' }),
  logIndex: z.int().meta({ description: 'Place of the log in its block.' }),
  contract: z.string().meta({ description: 'The contract that wrote it.' }),
  fields: z.record(z.string(), z.unknown()).meta({
    description: 'The fields that the log proves, as they would be in the payload.',
  }),
};

export const sourcePreviewResultSchema = z
  .strictObject({
    networkId: z.int().meta({ description: 'Network of the transaction.' }),
    transactionHash: z.string().meta({ description: 'The transaction.' }),
    blockNumber: z.int().meta({ description: 'The block that it is in.' }),
    isSuccess: z.boolean().meta({ description: 'Whether it succeeded. A failed transaction has no logs.' }),
    logs: count.meta({ description: 'Number of logs of the transaction.' }),
    events: z
      .array(
        z.strictObject({
          ...previewedEvent,
          sourceId: z.string().nullable().meta({ description: 'The source that takes the log; null for a new one.' }),
        }),
      )
      .meta({ description: 'The events that the transaction would lead to. Nothing is stored.' }),
    others: z
      .array(
        z.strictObject({
          logIndex: z.int().meta({ description: 'Place of the log in its block.' }),
          contract: z.string().meta({ description: 'The contract that wrote it.' }),
          reason: z.string().meta({ description: 'Why nothing would be made of it.' }),
        }),
      )
      .max(MAX_LOGS_SHOWN)
      .meta({ description: `The first ${MAX_LOGS_SHOWN} other logs of the transaction at most.` }),
  })
  .meta({
    id: 'SourcePreview',
    description: 'The events that a transaction would lead to.',
    example: {
      networkId: 8453,
      transactionHash: '0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060',
      blockNumber: 38214507,
      isSuccess: true,
      logs: 2,
      events: [
        {
          factId: 'fct_hpnyyoxuwgdt73orfpqwrp4iso',
          sourceId: null,
          kind: 'Transfer',
          events: ['TransferProcessed', 'TransferFinalized'],
          isDust: false,
          logIndex: 12,
          contract: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
          fields: {
            payer: '0x71C7656EC7ab88b098defB751B7401B5f6d8976F',
            payee: '0x52908400098527886E0F7030069857D2E4169EE7',
            amount: '25',
            amountBase: '25000000',
            token: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
          },
        },
      ],
      others: [
        {
          logIndex: 11,
          contract: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
          reason: 'It is of another event.',
        },
      ],
    },
  });

export type SourcePreview = z.output<typeof sourcePreviewResultSchema>;

/** A preview shows this number of events at most. */
export const MAX_RECENT_EVENTS = 10;

export const sourceRecentEventsSchema = z
  .strictObject({
    networkId: z.int().meta({ description: 'Network of the source.' }),
    fromBlock: z.int().meta({ description: 'First block of the look back. How far it reaches depends on the nodes.' }),
    toBlock: z.int().meta({ description: 'Last block of the look back, which is the newest block.' }),
    found: count.meta({ description: 'Number of matching logs in these blocks.' }),
    events: z
      .array(
        z.strictObject({
          ...previewedEvent,
          transactionHash: z.string().meta({ description: 'The transaction.' }),
          blockNumber: z.int().meta({ description: 'The block that it is in.' }),
          dateBlock: z.int().nullable().meta({
            description: 'Date of the block, in Unix seconds; null if the node does not send it with a log.',
          }),
        }),
      )
      .max(MAX_RECENT_EVENTS)
      .meta({ description: `The newest ${MAX_RECENT_EVENTS} at most, newest first. Nothing is stored.` }),
  })
  .meta({
    id: 'SourceRecentEvents',
    description: 'The newest events that a source would have led to.',
    example: {
      networkId: 8453,
      fromBlock: 38213508,
      toBlock: 38214507,
      found: 1,
      events: [
        {
          factId: 'fct_hpnyyoxuwgdt73orfpqwrp4iso',
          kind: 'Transfer',
          events: ['TransferProcessed', 'TransferFinalized'],
          transactionHash: '0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060',
          blockNumber: 38214501,
          dateBlock: 1763168388,
          logIndex: 12,
          contract: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
          isDust: false,
          fields: {
            payer: '0x71C7656EC7ab88b098defB751B7401B5f6d8976F',
            payee: '0x52908400098527886E0F7030069857D2E4169EE7',
            amount: '25',
            amountBase: '25000000',
            token: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
          },
        },
      ],
    },
  });

export type SourceRecentEvents = z.output<typeof sourceRecentEventsSchema>;

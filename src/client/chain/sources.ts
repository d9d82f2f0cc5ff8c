import type { z } from 'zod';
import type {
  addAddressesSchema,
  addressChangeSchema,
  addressListQuerySchema,
  addressListSchema,
} from '../../contract/chain/addresses.ts';
import type {
  newSourceSchema,
  sourcePreviewSchema,
  sourceRecentSchema,
  sourceUpdateSchema,
} from '../../contract/chain/new-source.ts';
import type {
  sourceListQuerySchema,
  sourceListSchema,
  sourcePreviewResultSchema,
  sourceRecentEventsSchema,
  sourceSchema,
} from '../../contract/chain/sources.ts';
import { allPages } from '../pages.ts';
import type { Body, Query } from '../schema-types.ts';
import type { CallOptions, Transport } from '../transport.ts';

export type Source = z.output<typeof sourceSchema>;
export type SourceList = z.output<typeof sourceListSchema>;
export type SourceListQuery = Query<typeof sourceListQuerySchema>;
export type NewSource = Body<typeof newSourceSchema>;
export type SourceUpdate = z.input<typeof sourceUpdateSchema>;
export type SourcePreviewRequest = Body<typeof sourcePreviewSchema>;
export type SourcePreview = z.output<typeof sourcePreviewResultSchema>;
export type SourceRecentRequest = Body<typeof sourceRecentSchema>;
export type SourceRecentEvents = z.output<typeof sourceRecentEventsSchema>;
export type NewAddresses = z.input<typeof addAddressesSchema>;
export type NewAddress = NewAddresses['addresses'][number];
export type AddressChange = z.output<typeof addressChangeSchema>;
export type AddressList = z.output<typeof addressListSchema>;
export type BookAddress = AddressList['addresses'][number];
export type AddressListQuery = Query<typeof addressListQuerySchema>;

const ONE = '/sources/{sourceId}';
const ADDRESSES = '/sources/{sourceId}/addresses';

/** Mappings from the logs of contracts to events of the entity. */
export class Sources {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The same definition again returns the source that exists. */
  create(source: NewSource, options?: CallOptions): Promise<Source> {
    return this.#transport.call({ method: 'POST', path: '/sources', json: source }, options);
  }

  /**
   * Shows the events that a source would make from a transaction. Without a `contract`, the entity's sources are used.
   */
  preview(request: SourcePreviewRequest, options?: CallOptions): Promise<SourcePreview> {
    return this.#transport.call({ method: 'POST', path: '/sources/preview', json: request }, options);
  }

  /** The newest events that a source would have led to. It looks back over the blocks that a node gives in a few calls. */
  previewRecent(request: SourceRecentRequest, options?: CallOptions): Promise<SourceRecentEvents> {
    return this.#transport.call({ method: 'POST', path: '/sources/preview/recent', json: request }, options);
  }

  list(query: SourceListQuery = {}, options?: CallOptions): Promise<SourceList> {
    return this.#transport.call({ method: 'GET', path: '/sources', query }, options);
  }

  /** Every matching source, page after page. */
  listAll(query: SourceListQuery = {}, options?: CallOptions): AsyncGenerator<Source, void, undefined> {
    return allPages((page, each) => this.list(page, each), 'sources', 'sourceId', query, options);
  }

  get(sourceId: string, options?: CallOptions): Promise<Source> {
    return this.#transport.call({ method: 'GET', path: ONE, id: sourceId }, options);
  }

  /** Changes the fields that are given. A new `where`, `fields` or `minAmount` counts from `appliesFromBlock` on. */
  update(sourceId: string, changes: SourceUpdate, options?: CallOptions): Promise<Source> {
    return this.#transport.call({ method: 'PATCH', path: ONE, id: sourceId, json: changes }, options);
  }

  /** At most 1,000 addresses. A repeated call changes nothing. */
  addAddresses(sourceId: string, addresses: readonly NewAddress[], options?: CallOptions): Promise<AddressChange> {
    return this.#transport.call({ method: 'POST', path: ADDRESSES, id: sourceId, json: { addresses } }, options);
  }

  /** At most 1,000 addresses. Addresses that are not in the book are passed over. */
  removeAddresses(sourceId: string, addresses: readonly string[], options?: CallOptions): Promise<AddressChange> {
    return this.#transport.call({ method: 'DELETE', path: ADDRESSES, id: sourceId, json: { addresses } }, options);
  }

  listAddresses(sourceId: string, query: AddressListQuery = {}, options?: CallOptions): Promise<AddressList> {
    return this.#transport.call({ method: 'GET', path: ADDRESSES, id: sourceId, query }, options);
  }

  /** Every matching address of a source, page after page. */
  listAllAddresses(
    sourceId: string,
    query: AddressListQuery = {},
    options?: CallOptions,
  ): AsyncGenerator<BookAddress, void, undefined> {
    return allPages((page, each) => this.listAddresses(sourceId, page, each), 'addresses', 'address', query, options);
  }

  /** No more logs are read for it. Facts that it has found stay. */
  delete(sourceId: string, options?: CallOptions): Promise<void> {
    return this.#transport.call({ method: 'DELETE', path: ONE, id: sourceId, isDeletion: true }, options);
  }
}

import type { z } from 'zod';
import type { newSourceSchema, sourcePreviewSchema, sourceUpdateSchema } from '../../contract/chain/new-source.ts';
import type {
  sourceListQuerySchema,
  sourceListSchema,
  sourcePreviewResultSchema,
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

const ONE = '/sources/{sourceId}';

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

  /** What a source would make of a transaction, or without a `contract` what the sources of the entity make of it. */
  preview(request: SourcePreviewRequest, options?: CallOptions): Promise<SourcePreview> {
    return this.#transport.call({ method: 'POST', path: '/sources/preview', json: request }, options);
  }

  list(query: SourceListQuery = {}, options?: CallOptions): Promise<SourceList> {
    return this.#transport.call({ method: 'GET', path: '/sources', query }, options);
  }

  /** Every matching source, page after page. */
  listAll(query: SourceListQuery = {}, options?: CallOptions): AsyncGenerator<Source, void, undefined> {
    const readPage = async (page: SourceListQuery, pageOptions: CallOptions) => {
      const { totalResults, sources } = await this.list(page, pageOptions);
      return { totalResults, items: sources };
    };
    return allPages(readPage, ({ sourceId }) => sourceId, query, options);
  }

  get(sourceId: string, options?: CallOptions): Promise<Source> {
    return this.#transport.call({ method: 'GET', path: ONE, id: sourceId }, options);
  }

  /** Changes the fields that are given. A new `where`, `fields` or `minAmount` counts from `appliesFromBlock` on. */
  update(sourceId: string, changes: SourceUpdate, options?: CallOptions): Promise<Source> {
    return this.#transport.call({ method: 'PATCH', path: ONE, id: sourceId, json: changes }, options);
  }

  /** No more logs are read for it. Facts that it has found stay. */
  delete(sourceId: string, options?: CallOptions): Promise<void> {
    return this.#transport.call({ method: 'DELETE', path: ONE, id: sourceId, isDeletion: true }, options);
  }
}

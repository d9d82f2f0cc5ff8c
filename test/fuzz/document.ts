import type { App } from '../../src/api/app.ts';
import { call } from '../support/api.ts';

/** The parts of the OpenAPI document that requests are generated from and responses are checked against. */

export type Schema = {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  minItems?: number;
  maxItems?: number;
  minimum?: number;
  maximum?: number;
  pattern?: string;
  example?: unknown;
  [keyword: string]: unknown;
};

type Content = Record<string, { schema: Schema; examples?: Record<string, unknown> }>;
export type DocumentedResponse = { content?: Content };

type Described = {
  'x-permission'?: string;
  parameters?: { name: string; in: string; schema: Schema }[];
  requestBody?: { content: Content };
  responses: Record<string, DocumentedResponse>;
};

export type ApiDocument = {
  paths: Record<string, Record<string, Described>>;
  components: { schemas: Record<string, Schema> };
};

export type FuzzedOperation = {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly isForOperator: boolean;
  readonly query: readonly { name: string; schema: Schema }[];
  readonly body: { readonly contentType: string; readonly schema: Schema } | null;
  readonly responses: Readonly<Record<string, DocumentedResponse>>;
};

export async function readDocument(app: App): Promise<ApiDocument> {
  return (await (await call(app, null, '/openapi.json')).json()) as ApiDocument;
}

export function operationsIn(document: ApiDocument): FuzzedOperation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => {
      const [contentType, content] = Object.entries(described.requestBody?.content ?? {})[0] ?? [];
      return {
        name: `${method.toUpperCase()} ${path}`,
        method: method.toUpperCase(),
        path,
        isForOperator: described['x-permission'] === 'operator',
        query: (described.parameters ?? []).filter((parameter) => parameter.in === 'query'),
        body: contentType === undefined || content === undefined ? null : { contentType, schema: content.schema },
        responses: described.responses,
      };
    }),
  );
}

export function resolveSchema(document: ApiDocument, schema: Schema): Schema {
  const name = schema.$ref?.split('/').at(-1);
  return name === undefined ? schema : (document.components.schemas[name] ?? {});
}

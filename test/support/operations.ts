import type { App } from '../../src/api/app.ts';
import { type CallOptions, call } from './api.ts';

/** The operations in the OpenAPI document of an app, so that tests include new routes automatically. */

export type Operation = {
  name: string;
  method: string;
  path: string;
  permission: string | undefined;
  /** The name in the braces of the path; null when there is none. */
  parameter: string | null;
  /** The names of its query parameters. */
  query: string[];
  /** A request with valid inputs. */
  example: CallOptions;
};

type Schema = { $ref?: string; example?: unknown; required?: string[]; properties?: Record<string, Schema> };
type Described = {
  'x-permission'?: string;
  parameters?: { name: string; in: string }[];
  requestBody?: { required?: boolean; content: Record<string, { schema: Schema }> };
};
type Document = {
  paths: Record<string, Record<string, Described>>;
  components: { schemas: Record<string, Schema> };
};

/** Bulk changes require a filter, which the schema does not express. */
const QUERIES: Readonly<Record<string, string>> = { '/webhooks/classic': '?networkId=999999' };

export async function operationsOf(app: App): Promise<Operation[]> {
  const document = (await (await call(app, null, '/openapi.json')).json()) as Document;
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      path,
      permission: described['x-permission'],
      parameter: /\{(\w+)\}/.exec(path)?.[1] ?? null,
      query: (described.parameters ?? []).filter((each) => each.in === 'query').map(({ name }) => name),
      example: { method: method.toUpperCase(), ...exampleBody(document, described) },
    })),
  );
}

/** The path with this id as its parameter, and with a query where the operation requires one. */
export function pathWith(operation: Pick<Operation, 'path'>, id: string): string {
  const path = operation.path.replace(/\{\w+\}/, id);
  const query = Object.entries(QUERIES).find(([end]) => path.endsWith(end))?.[1];
  return path + (query ?? '');
}

function exampleBody(document: Document, { requestBody }: Described): CallOptions {
  const [type, content] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  if (type === undefined || content === undefined) return {};
  return { body: JSON.stringify(exampleOf(document, content.schema)), headers: { 'content-type': type } };
}

function exampleOf(document: Document, given: Schema): unknown {
  const name = given.$ref?.split('/').at(-1);
  const schema = name === undefined ? given : document.components.schemas[name];
  if (schema === undefined || schema.example !== undefined) return schema?.example;
  const { required = [], properties = {} } = schema;
  return Object.fromEntries(required.map((field) => [field, exampleOf(document, properties[field] ?? {})]));
}

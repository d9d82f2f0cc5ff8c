/** The parts of an OpenAPI document that programs depend on, after `withoutTexts`. */

export type Schema = {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly pattern?: string;
  readonly [keyword: string]: unknown;
};

export type Parameter = {
  readonly $ref?: string;
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema?: Schema;
};

export type Content = Readonly<Record<string, { readonly schema?: Schema }>>;

export type Operation = {
  readonly operationId: string;
  readonly security?: readonly Readonly<Record<string, unknown>>[];
  readonly 'x-permission'?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Content };
  readonly responses: Readonly<
    Record<string, { readonly content?: Content; readonly headers?: Readonly<Record<string, unknown>> }>
  >;
};

type PathItems = Readonly<Record<string, Readonly<Record<string, Operation>>>>;

export type Document = {
  readonly paths: PathItems;
  readonly webhooks?: PathItems;
  readonly components: {
    readonly schemas?: Readonly<Record<string, Schema>>;
    readonly parameters?: Readonly<Record<string, Parameter>>;
  };
};

const TEXTS = new Set(['description', 'summary', 'example', 'examples', 'tags', 'info', 'servers', 'title']);
/** Their keys are names of the author's choice, which can be one of the above. */
const MAPS = new Set(['properties', 'paths', 'webhooks', 'responses', 'headers', 'content', 'schemas', 'parameters']);
const ERROR_STATUS = /^[45]\d\d$/;

/** Without what only people read, and without errors, which have one schema for all. That is most of a document. */
export function withoutTexts(document: unknown): Document {
  return strip(document, false) as Document;
}

function strip(value: unknown, isMap: boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => strip(item, false));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => (isMap ? !ERROR_STATUS.test(key) : !TEXTS.has(key)))
      .map(([key, child]) => [key, strip(child, !isMap && MAPS.has(key))]),
  );
}

export function schemaAt({ components }: Document, schema: Schema): Schema {
  return schema.$ref === undefined ? schema : (components.schemas?.[nameIn(schema.$ref)] ?? {});
}

export function parameterAt({ components }: Document, parameter: Parameter): Parameter {
  return parameter.$ref === undefined ? parameter : (components.parameters?.[nameIn(parameter.$ref)] ?? parameter);
}

function nameIn(reference: string): string {
  return reference.split('/').at(-1) ?? '';
}

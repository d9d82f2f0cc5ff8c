import type { z } from 'zod';

export type JsonSchema = z.core.JSONSchema.JSONSchema;

const PRIMITIVES: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
};

/** A JSON Schema as the text of a TypeScript type, with its descriptions as comments. */
export function typeText(schema: JsonSchema | boolean | undefined, indent = ''): string {
  if (typeof schema !== 'object') return 'unknown';
  if (schema.$ref !== undefined) return schema.$ref.split('/').at(-1) ?? 'unknown';
  if (schema.anyOf !== undefined) return schema.anyOf.map((member) => typeText(member, indent)).join(' | ');
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  // zod writes an enum without values as `not`: the settings of each service decide its values.
  if (schema.not !== undefined) return 'string';
  if (Array.isArray(schema.type)) return schema.type.map((type) => typeText({ ...schema, type }, indent)).join(' | ');
  if (schema.type === 'object') return objectText(schema, indent);
  if (schema.type === 'array')
    return `Array<${Array.isArray(schema.items) ? 'unknown' : typeText(schema.items, indent)}>`;
  return PRIMITIVES[schema.type ?? ''] ?? 'unknown';
}

function objectText({ properties, required = [], additionalProperties }: JsonSchema, indent: string): string {
  if (properties === undefined) return `Record<string, ${typeText(additionalProperties, indent)}>`;
  const inner = `${indent}  `;
  const lines = Object.entries(properties).map(([name, property]) => {
    const type = typeText(property, inner);
    const field = required.includes(name) ? `${name}: ${type}` : `${name}?: ${type} | undefined`;
    const description = typeof property === 'object' ? property.description : undefined;
    return `${commentText(description, inner)}${inner}${field};\n`;
  });
  return `{\n${lines.join('')}${indent}}`;
}

export function commentText(description: string | undefined, indent: string): string {
  return description === undefined ? '' : `${indent}/** ${description.replaceAll('*/', '* /')} */\n`;
}

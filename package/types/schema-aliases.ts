import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { commentText, type JsonSchema, typeText } from './schema-type.ts';

/**
 * The client's types are inferred from the zod schemas of the service. Users of the package have no zod, so each type
 * that is inferred from a schema is written out in the declarations. A test compares every one with what is inferred.
 */

/** As `src/client` writes them: `z.output<typeof schema>`, `Query<typeof schema>`, `keyof typeof TABLE`. */
const ALIAS = /^export type (\w+) = (?:(z\.output|z\.input|Query|Match|Body)<typeof (\w+)>|keyof typeof (\w+));$/gm;
const IMPORT = /^import type \{([^}]*)\} from '([^']+)';\n/gm;

/** Types do not depend on the settings of a service. */
const RULES = { allowInsecureTargets: false, networks: [], events: [] };

/**
 * Writes out the aliases in the declarations of a module of `src`; `source` is the path of that module. An alias of
 * something that the module itself declares stays, since that is in its declarations.
 */
export async function writeOutAliases(declarations: string, source: string): Promise<string> {
  const names = [...declarations.matchAll(ALIAS)].map(([, , , schema, table]) => schema ?? table ?? '');
  const values = await importValues(declarations, source, names);
  return declarations
    .replace(ALIAS, (alias, name: string, kind: string | undefined, schema: string, table: string) => {
      const value = values.get(schema ?? table);
      if (value === undefined) return alias;
      return declare(name, kind === undefined ? { enum: Object.keys(value) } : jsonSchemaOf(value, kind));
    })
    .replace(IMPORT, (line, imported: string, from: string) => (isOnlyForAliases(imported, from, names) ? '' : line));
}

/** The values behind the type imports of a module. */
async function importValues(
  declarations: string,
  source: string,
  names: readonly string[],
): Promise<Map<string, object>> {
  const values = new Map<string, object>();
  for (const [, imported = '', from = ''] of declarations.matchAll(IMPORT)) {
    const wanted = namesIn(imported).filter((name) => names.includes(name));
    if (wanted.length === 0) continue;
    const module: Record<string, unknown> = await import(resolve(dirname(source), from));
    for (const name of wanted) values.set(name, Object(module[name]));
  }
  return values;
}

function isOnlyForAliases(imported: string, from: string, names: readonly string[]): boolean {
  return from === 'zod' || from.endsWith('/schema-types.ts') || namesIn(imported).every((name) => names.includes(name));
}

function namesIn(imported: string): string[] {
  return imported
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

function jsonSchemaOf(schemaOrFactory: object, kind: string): JsonSchema {
  const schema = typeof schemaOrFactory === 'function' ? schemaOrFactory(RULES) : schemaOrFactory;
  if (!(schema instanceof z.ZodType)) throw new TypeError(`${kind}<…> needs a schema`);
  const io = kind === 'z.input' || kind === 'Body' ? 'input' : 'output';
  const { $ref, $defs, ...own }: JsonSchema = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  const named = $defs?.[$ref?.split('/').at(-1) ?? ''] ?? own;
  if (kind === 'Match') return asQuery(asMatch(named));
  return kind === 'Query' ? asQuery(named) : named;
}

/** Every parameter may be left out. */
function asQuery(schema: JsonSchema): JsonSchema {
  return { ...schema, required: [] };
}

/** Without what `Match` of the client leaves out. */
function asMatch({ properties = {}, ...schema }: JsonSchema): JsonSchema {
  const { dryRun: _, networkIds: __, events: ___, ...others } = properties;
  return { ...schema, properties: others };
}

function declare(name: string, schema: JsonSchema): string {
  return `${commentText(schema.description, '')}export type ${name} = ${typeText(schema)};\n`;
}

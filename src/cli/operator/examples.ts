import type { Command } from 'commander';
import { addExamples } from '../terminal/help.ts';

const ENTITY = 'ent_0199c2a6e0b17d3c8a54f1e2d3c4b5a6';

/** Examples for the commands that run the service or work on its store. A test requires some for every command. */
const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  serve: ['serve'],
  doctor: ['doctor'],
  ready: ['ready'],
  'entities create': ['entities create --name Acme'],
  'entities list': ['entities list --limit 100'],
  'keys create': [`keys create --entity ${ENTITY} --permissions webhooks:read,deliveries:read --expires 90d`],
  'keys list': [`keys list --entity ${ENTITY}`],
  'keys revoke': ['keys revoke key_0199c2a6e0b17d3c8a54f1e2d3c4b5a6'],
  'keys operator': ['keys operator --name billing --scopes entities:read,events:write --expires 90d'],
  audit: [`audit --entity ${ENTITY} --since 2026-01-31`],
  import: [`import webhooks.csv --entity ${ENTITY} --dry-run`],
  export: [`export --entity ${ENTITY} --format csv --output webhooks.csv`],
  'chain resume': ['chain resume --network 8453 --from 38214507'],
  'chain audit': [
    'chain audit --network 8453 --day 2026-01-31',
    'chain audit --network 8453 --day 2026-01-31 --max-calls 500 --json',
  ],
  migrate: ['migrate'],
  backup: ['backup backups/paybell.db'],
  copy: ['copy --from sqlite:data/paybell.db --to postgres://paybell:secret@db.example.com/paybell'],
  prune: ['prune --older-than 90d --dry-run'],
  'store secrets rekey': ['store secrets rekey'],
};

/** Adds the examples to the commands that the program has. A complete program must have all of these commands. */
export function addOperatorExamples(program: Command, { isComplete }: { isComplete: boolean }): void {
  for (const [words, examples] of Object.entries(EXAMPLES)) {
    const command = findCommand(program, words.split(' '));
    if (command !== null) addExamples(command, examples);
    else if (isComplete) throw new Error(`There are examples of the command "${words}", which does not exist`);
  }
}

function findCommand(from: Command, words: readonly string[]): Command | null {
  const [first, ...rest] = words;
  if (first === undefined) return from;
  const next = from.commands.find((command) => command.name() === first);
  return next === undefined ? null : findCommand(next, rest);
}

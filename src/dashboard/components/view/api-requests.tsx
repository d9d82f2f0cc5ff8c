import { type Command, Curl } from '../values/copy.tsx';

/** The requests of a view as commands. They are folded. */
export function ApiRequests({ commands }: { commands: readonly Command[] }) {
  return (
    <details>
      <summary>{commands.length === 1 ? 'Equivalent API request' : 'Equivalent API requests'}</summary>
      {commands.map((command) => (
        <Curl key={`${command.method} ${command.path}`} {...command} />
      ))}
    </details>
  );
}

import type { SourceDefinition } from '../../domain/chain/source-definition.ts';
import { loadAbiLibrary } from './decode/abi-library.ts';
import { addressesOf, type LogAddresses } from './decode/definition/addresses.ts';
import { type CompiledSource, compileSource } from './decode/definition/compile-source.ts';
import { LogReader, type LogValues } from './decode/log-values.ts';
import type { Log } from './rpc/types.ts';

/** Explains in one sentence why a definition takes nothing from a log, for people who set up a source. */
export async function logExplainer(definition: SourceDefinition): Promise<(log: Log) => string> {
  const library = await loadAbiLibrary();
  const compiled = compileSource(definition, library);
  if (!compiled.isValid) return () => 'The source is not valid.';
  const reader = new LogReader(compiled.source.event, library);
  const addresses = addressesOf(definition.networkId, library);
  return (log) => explain(log, compiled.source, reader, addresses);
}

function explain(log: Log, source: CompiledSource, reader: LogReader, addresses: LogAddresses): string {
  const { event, contract, conditions } = source;
  if (log.address !== contract) return 'The log is of another contract.';
  if (log.topics[0] !== event.topic) return `It is of another event than ${event.name}.`;
  const values = reader.read(log);
  if (values === null) {
    return `It does not fit the declaration of ${event.name}: other parameters are indexed, or the data is not of these types.`;
  }
  const indexed = event.parameters.filter(({ isIndexed }) => isIndexed);
  const wrongTopic = conditions.topics.findIndex(
    (allowed, place) => allowed !== null && !allowed.has(log.topics[place + 1] ?? ''),
  );
  const wrongValue = conditions.values.find(({ index, allowed }) => !allowed.has(values[index]));
  const name = indexed[wrongTopic]?.name ?? wrongValue?.name;
  if (name !== undefined)
    return `Its ${name} is ${shown(source, name, values, addresses)}, and \`where\` does not list this value.`;
  if (source.kind === null) {
    return 'It changes the rate of an open flow, or no node has the earlier state that would show whether the flow was open.';
  }
  return 'The source takes nothing from it.';
}

const MAX_SHOWN = 80;

function shown({ event }: CompiledSource, name: string, values: LogValues, addresses: LogAddresses): string {
  const index = event.parameters.findIndex((parameter) => parameter.name === name);
  const text = String(values[index]);
  if (event.parameters[index]?.kind === 'address') return addresses.show(text);
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}…`;
}

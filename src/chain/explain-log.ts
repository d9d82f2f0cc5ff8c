import type { SourceDefinition } from '../domain/chain/source-definition.ts';
import { type AbiLibrary, loadAbiLibrary } from './decode/abi-library.ts';
import { type CompiledSource, compileSource } from './decode/definition/compile-source.ts';
import { LogReader, type LogValues } from './decode/log-values.ts';
import type { Log } from './rpc/types.ts';

/** Says in a sentence why a definition makes nothing of a log, for people who set up a source. */
export async function logExplainer(definition: SourceDefinition): Promise<(log: Log) => string> {
  const library = await loadAbiLibrary();
  const compiled = compileSource(definition, library);
  if (!compiled.isValid) return () => 'The source is not valid.';
  const reader = new LogReader(compiled.source.event, library);
  return (log) => explain(log, compiled.source, reader, library);
}

function explain(log: Log, source: CompiledSource, reader: LogReader, library: AbiLibrary): string {
  const { event, contract, conditions, notZero } = source;
  if (log.address !== contract) return 'It is of another contract.';
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
  if (name !== undefined) return `Its ${name} is ${shown(source, name, values, library)}, which where does not take.`;
  if (notZero !== null && values[notZero] === 0n)
    return `It moves nothing: its ${event.parameters[notZero]?.name} is 0.`;
  if (source.kind === null) {
    return 'It changes the rate of a flow that was open before, or no node has the state that would show that it was not.';
  }
  return 'Nothing was made of it.';
}

const MAX_SHOWN = 80;

function shown({ event }: CompiledSource, name: string, values: LogValues, library: AbiLibrary): string {
  const index = event.parameters.findIndex((parameter) => parameter.name === name);
  const text = String(values[index]);
  if (event.parameters[index]?.kind === 'address') return library.checksumAddress(text);
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}…`;
}

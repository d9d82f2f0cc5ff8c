import { Fragment } from 'preact';

/** The name of an event, which a narrow screen may break between its words. */
export function Breakable({ event }: { event: string }) {
  return event.split(/(?=[A-Z])/).map((word, index) => (
    <Fragment key={index}>
      {index === 0 ? null : <wbr />}
      {word}
    </Fragment>
  ));
}

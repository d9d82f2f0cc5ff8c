import { z } from 'zod';

const stated = (description: string) => z.string().nullable().meta({ description });

export const summarySchema = z
  .strictObject({
    amount: stated('Amount of the payload, as it was received.'),
    token: stated('Currency of the payload, or the symbol or the address of its token.'),
    agreementId: stated('Agreement of the payload.'),
    transferId: stated('Transfer of the payload.'),
    payer: stated('Payer of the payload.'),
  })
  .meta({ id: 'DeliverySummary', description: 'Fields of a payload that describe its payment.' });

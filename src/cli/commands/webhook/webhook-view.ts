import type { Io } from '../../io/io.ts'
import type { View } from '../../render/view.ts'

const WEBHOOK_VIEW: View = {
  fields: [
    ...['id', 'url', 'events', 'email', 'status', 'waiting', 'delivered', 'failed', 'failing_since', 'created_at'],
  ],
  columns: ['id', 'url', 'events', 'email', 'status', 'waiting', 'failed'],
  id: 'id',
  sparse: ['email', 'waiting', 'failed'],
}

/** Returns the view of webhooks. If a webhook has several event types, a terminal shows only their number. */
export const webhookView = ({ stdoutTty }: Pick<Io, 'stdoutTty'>, ...more: string[]): View => ({
  ...WEBHOOK_VIEW,
  fields: [...WEBHOOK_VIEW.fields, ...more],
  cells: stdoutTty ? ({ events, ...record }) => ({ ...record, events: shortEvents(events) }) : undefined,
})

/** Replaces a list of several event types with their number, so that a table has room for the URL. */
const shortEvents = (events: unknown) =>
  Array.isArray(events) && events.length > 1 ? `${events.length} types` : events

export const DELIVERY_VIEW: View = {
  fields: [
    ...['event_id', 'type', 'state', 'attempts', 'response_status', 'error', 'response', 'attempted_at'],
    ...['next_attempt_at', 'created_at'],
  ],
  columns: ['event_id', 'type', 'state', 'attempts', 'response_status', 'error', 'created_at'],
  id: 'event_id',
}

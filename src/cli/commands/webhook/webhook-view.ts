import type { View } from '../../render/view.ts'

export const WEBHOOK_VIEW: View = {
  fields: [
    ...['id', 'url', 'events', 'email', 'status', 'waiting', 'delivered', 'failed', 'failing_since', 'created_at'],
  ],
  columns: ['id', 'url', 'events', 'email', 'status', 'waiting', 'failed'],
  id: 'id',
}

export const DELIVERY_VIEW: View = {
  fields: [
    ...['event_id', 'type', 'state', 'attempts', 'response_status', 'error', 'response', 'attempted_at'],
    ...['next_attempt_at', 'created_at'],
  ],
  columns: ['event_id', 'type', 'state', 'attempts', 'response_status', 'error', 'created_at'],
  id: 'event_id',
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import type { Source } from "../source/source.ts";
import { Panel } from "./panel.tsx";
import { Timeline } from "./timeline.tsx";

export function TimelineView({ source }: { source: Source }) {
  return (
    <div class="timeline-view">
      <Timeline source={source} />
      <Panel source={source} />
    </div>
  );
}

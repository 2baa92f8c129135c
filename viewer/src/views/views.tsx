// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The views of the page. A new one is a component here, and a function in src/view/timeline/views.cpp for its data.

import type { ComponentType } from "preact";
import type { Source } from "../source/source.ts";
import { TimelineView } from "../timeline/view.tsx";
import { Communication } from "./communication.tsx";
import { Compare } from "./compare.tsx";
import { Flame } from "./flame.tsx";
import { Kernels } from "./kernels.tsx";
import { Ledger } from "./ledger.tsx";
import { Memory } from "./memory.tsx";
import { Modules } from "./modules.tsx";
import { Operators } from "./operators.tsx";
import { Overview } from "./overview.tsx";
import { Ranks } from "./ranks.tsx";

export interface View {
  name: string;
  title: string;
  show: ComponentType<{ source: Source }>;
}

export const VIEWS: View[] = [
  { name: "timeline", title: "Timeline", show: TimelineView },
  { name: "overview", title: "Overview", show: Overview },
  { name: "operators", title: "Operators", show: Operators },
  { name: "kernels", title: "Kernels", show: Kernels },
  { name: "modules", title: "Modules", show: Modules },
  { name: "flame", title: "Flame graph", show: Flame },
  { name: "memory", title: "Memory", show: Memory },
  { name: "communication", title: "Communication", show: Communication },
  { name: "ranks", title: "Ranks", show: Ranks },
  { name: "compare", title: "Compare", show: Compare },
  { name: "ledger", title: "Ledger", show: Ledger },
];

/** Those that the page has data for. A page of `sonde job` or `sonde diff` has no timeline. */
export function viewsOf(source: Source): View[] {
  return VIEWS.filter(({ name }) => source.trace.views.includes(name));
}
